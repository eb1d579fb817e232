package secret

import "strings"

// minEnv is the least length, in bytes, of an environment value that is hidden.
const minEnv = 8

// credentialWords are the last words of names that hold credentials.
var credentialWords = []string{
	"KEY", "SECRET", "TOKEN", "PASSWORD", "PASSWD", "PASS", "PWD", "PASSPHRASE", "CREDENTIAL", "CREDENTIALS", "CREDS",
	"APIKEY", "SECRETKEY", "ACCESSKEY", "PRIVATEKEY", "AUTHTOKEN", "ACCESSTOKEN", "AUTH", "PAT", "JWT", "BEARER", "COOKIE", "WEBHOOK",
	"KEY_ID", "KEYID", "CONNECTION_STRING", "DSN", "SALT", "SIGNATURE",
}

// credentialName reports whether a variable of that name holds a credential.
func credentialName(name string) bool {
	name = strings.ToUpper(name)
	if name == "PWD" || name == "OLDPWD" {
		return false
	}
	name = strings.TrimRight(name, "0123456789_")
	for _, w := range credentialWords {
		if rest, ok := strings.CutSuffix(name, w); ok && (rest == "" || !alnum[rest[len(rest)-1]] || len(w) >= 6) {
			return true
		}
	}
	return false
}

// environSecret is the secret part of the value of a variable, or "".
func environSecret(name, value string) string {
	if _, rest, ok := strings.Cut(value, "://"); ok {
		at := strings.LastIndexByte(rest, '@')
		if at < 0 {
			return webhookSecret(name, value)
		}
		// The password as it is written, which is what texts hold.
		user, password, _ := strings.Cut(rest[:at], ":")
		if len(password) < 6 || password == user || common(password) || template(password) || strings.Contains(user, "/") {
			return ""
		}
		return password
	}
	if !credentialName(name) || !plausible(value) || kebab(value) && !mayBeWords(name) {
		return ""
	}
	return value
}

// mayBeWords reports whether the credential of that name is one that people make up.
// The others are drawn by chance, and a few words are none: SORT_KEY=created-at.
func mayBeWords(name string) bool {
	name = strings.ToUpper(name)
	return strings.Contains(name, "PASS") || strings.Contains(name, "SECRET") || strings.Contains(name, "PWD")
}

// webhookSecret takes the address itself where it is the credential.
func webhookSecret(name, value string) string {
	if up := strings.ToUpper(name); strings.Contains(up, "WEBHOOK") && len(value) >= 24 && digits.any(value) && uppers.any(value) {
		return value
	}
	return ""
}

// plausible reports whether the value of a credential variable can be a secret: not
// a path, a switch, a short number, a name of a secret kept elsewhere, or a word
// that ordinary text holds.
func plausible(v string) bool {
	if len(v) < minEnv || pathLike(v) || common(v) || template(v) || reference(v) {
		return false
	}
	return len(v) >= 12 || strings.Trim(v, "0123456789.,-+:") != ""
}

// template reports whether all of v stands for a value that is not filled in. That it holds
// what samples hold does not make it one: its name says that it is a credential.
func template(v string) bool {
	for _, marks := range [][2]string{{"<", ">"}, {"${", "}"}, {"{{", "}}"}, {"%", "%"}} {
		if strings.HasPrefix(v, marks[0]) && strings.HasSuffix(v, marks[1]) {
			return true
		}
	}
	return strings.Trim(v, "xX*.0-_") == ""
}

// roots are the first parts of absolute paths.
var roots = []string{
	"home", "Users", "usr", "etc", "var", "tmp", "opt", "run", "dev", "proc", "root", "mnt", "srv", "lib", "bin", "sbin",
	"private", "nix", "Applications", "Library", "System", "Volumes", "data", "app", "workspace", "snap", "sys", "media",
}

// pathLike reports whether v has the shape of a path. A secret may begin with a
// slash too, so an absolute path must begin with a known root or be made of
// plain lower-case words.
func pathLike(v string) bool {
	if strings.HasPrefix(v, "~/") || strings.HasPrefix(v, "./") || strings.HasPrefix(v, "../") {
		return true
	}
	if len(v) > 2 && v[1] == ':' && (v[2] == '\\' || v[2] == '/') {
		return true
	}
	rest, ok := strings.CutPrefix(v, "/")
	if !ok {
		return false
	}
	first, _, _ := strings.Cut(rest, "/")
	for _, r := range roots {
		if first == r {
			return true
		}
	}
	return strings.Contains(rest, "/") && strings.Trim(rest, "abcdefghijklmnopqrstuvwxyz/-_.") == ""
}

// common reports whether v is a word that ordinary text holds, so that hiding it
// would garble more than it protects. Trailing digits do not count up to two.
func common(v string) bool {
	v = strings.TrimSpace(v)
	var buf [24]byte
	if len(v) <= len(buf) {
		low := buf[:len(v)]
		for i := range low {
			low[i] = lower(v[i])
		}
		if commonWords[string(low)] {
			return true
		}
		word := strings.TrimRight(v, "0123456789")
		if len(v)-len(word) <= 2 && commonWords[string(low[:len(word)])] {
			return true
		}
	}
	return entropy(v) < 1.5
}

var commonWords = wordSet(`
password passw0rd p@ssword p@ssw0rd passwd passphrase secret secrets mysecret topsecret supersecret mypassword
token tokens mytoken apikey api_key api-key access accesskey credential credentials authorization authentication
development production staging testing test tests local localhost default defaults enabled disabled undefined
required optional unknown anonymous public private internal external admin administrator root user username guest
postgres postgresql mysql mariadb mongodb redis rabbitmq sqlite oracle database databases
docker kubernetes container compose github gitlab bitbucket google amazon microsoft azure anthropic openai
application service services server client frontend backend gateway platform platforms system
keyring keychain keystore filesystem directory document documents download downloads desktop
true false none null yes no on off auto manual always never string number integer boolean object
function interface component template templates resource resources response request requests session sessions
transaction identity identifier provider providers register registry repository repositories workspace
information message messages notification notifications security settings configuration config environment
welcome letmein qwerty qwertyuiop iloveyou football baseball sunshine princess trustno1 dragon monkey master
hello example placeholder changeme change_me change-me please replace insert todo fixme foobar
implicit explicit readonly read-only readwrite read-write basic bearer oauth oauth2 ed25519 rsa2048 sha256 aes256
minioadmin guestguest elastic wordpress drupal jenkins grafana prometheus terraform ansible vagrant
openssl openpgp signature signing encryption encrypted plaintext
`)

func wordSet(text string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(text) {
		set[w] = true
	}
	return set
}
