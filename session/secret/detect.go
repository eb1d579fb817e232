package secret

import (
	"encoding/base64"
	"strings"
)

// detector is a kind of secret that takes more than a prefix to recognize.
type detector struct {
	kind    string
	anchors []string // literals at which find looks; at least 3 bytes each
	fold    bool     // anchors match in any letter case
	find    finder
	all     finders // instead of find
}

// detectors are the kinds besides [shapes]. No finder looks past the end of the
// line that has its anchor, except those of private keys and that of AWS secrets;
// [Vault.Writer] knows of both.
var detectors = []detector{
	{kind: keyKind, anchors: []string{"PRIVATE KEY"}, all: findKeys},
	{kind: keyKind, anchors: []string{"Private-Lines: "}, all: findPutty},
	{kind: keyKind, anchors: []string{encodedBegin}, all: findEncoded},
	{kind: keyKind, anchors: []string{`"kty`}, all: findJWK},
	{kind: keyKind, anchors: []string{"privateExponent:", "prime1:", "prime2:", "exponent1:", "exponent2:", "coefficient:", "priv:"}, all: findHexKey},
	{kind: "jwt", anchors: []string{"eyJ"}, find: findJWT},
	{kind: "aws-secret-key", anchors: []string{"AKIA", "ASIA"}, find: findAWSSecret},
	{kind: "azure-storage-key", anchors: []string{"AccountKey=", "SharedAccessKey="}, find: findAzureKey},
	{kind: "azure-sas", anchors: []string{"sig="}, find: findSAS},
	{kind: "azure-client-secret", anchors: numbered("", "Q~"), find: findAzureClient},
	{kind: "twilio-key", anchors: hexed("SK"), find: findTwilio},
	{kind: "twilio-auth-token", anchors: []string{"twilio"}, fold: true, find: nearby(newClass("0-9a-f"), 32, nil)},
	{kind: "heroku-api-key", anchors: []string{"heroku"}, fold: true, find: nearby(newClass("0-9a-fA-F-"), 36, isUUID)},
	{kind: "cloudflare-api-token", anchors: []string{"cloudflare", "cf_api"}, fold: true, find: nearby(urlWord, 40, nil)},
	{kind: "discord-bot-token", anchors: []string{"discord"}, fold: true, find: findDiscord},
	{kind: "mailchimp-key", anchors: []string{"-us"}, find: findMailchimp},
	{kind: "telegram-bot-token", anchors: []string{":AA"}, find: findTelegram},
	{kind: "terraform-token", anchors: []string{".atlasv1."}, find: findTerraform},
	{kind: "postgres-password", anchors: []string{"postgres://", "postgresql://"}, find: findURL},
	{kind: "mysql-password", anchors: []string{"mysql://", "mariadb://"}, find: findURL},
	{kind: "mongodb-password", anchors: []string{"mongodb://", "mongodb+srv://"}, find: findURL},
	{kind: "redis-password", anchors: []string{"redis://", "rediss://"}, find: findURL},
	{kind: "amqp-password", anchors: []string{"amqp://", "amqps://"}, find: findURL},
	{kind: urlKind, anchors: []string{"://"}, find: findURL},
	{kind: bearerKind, anchors: []string{"bearer "}, fold: true, find: findBearer},
	{kind: "basic-auth", anchors: []string{"basic "}, fold: true, find: findBasic},
	{kind: assignedKind, anchors: assigned, fold: true, find: findAssigned},
}

// Kinds that say least. Where another detector finds the same text, it names it.
const (
	assignedKind = "assigned-secret"
	bearerKind   = "bearer-token"
	urlKind      = "url-password"
)

func weak(kind string) bool { return kind == assignedKind || kind == bearerKind || kind == urlKind }

// assigned are the ends of names to which secrets are assigned.
var assigned = []string{
	"password", "passwd", "passphrase", "privatekey", "secret", "token", "api_key", "api-key", "apikey", "access_key", "accesskey",
	"access-key", "private_key", "secret_key", "secretkey", "secret-key", "auth_key", "encryption_key", "credential", "credentials", "_pwd", "_pass",
}

func numbered(before, behind string) []string {
	var out []string
	for c := '0'; c <= '9'; c++ {
		out = append(out, before+string(c)+behind)
	}
	return out
}

func hexed(before string) []string {
	out := numbered(before, "")
	for c := 'a'; c <= 'f'; c++ {
		out = append(out, before+string(c))
	}
	return out
}

// maxPEM is the longest PEM block, in bytes; what is longer is hidden up to it.
const maxPEM = 32 << 10

// findPEM takes a private key from BEGIN to END, whether its lines are divided
// by line breaks or by the two characters \n of a JSON string. Without an END it
// takes the lines of base64 that follow.
func findPEM(s string, at int) (int, int) {
	const begin, end, rule = "-----BEGIN ", "-----END ", "-----"
	lo := strings.LastIndex(s[max(0, at-30):at], begin)
	if lo < 0 {
		return 0, 0
	}
	lo += max(0, at-30)
	i := at + len("PRIVATE KEY")
	i += len(s[i:min(len(s), i+6)]) - len(strings.TrimPrefix(s[i:min(len(s), i+6)], " BLOCK"))
	if !strings.HasPrefix(s[i:], rule) {
		return 0, 0
	}
	i += len(rule)
	limit, keyed, short, last := min(len(s), i+maxPEM), 0, 0, 0
	for i < limit && short <= 3 { // prose has more short words than a key
		i = skipBreaks(s, i, limit)
		if strings.HasPrefix(s[i:], end) {
			if n := strings.Index(s[i+len(end):min(len(s), i+60)], rule); n >= 0 && keyed >= 32 {
				return lo, i + len(end) + n + len(rule)
			}
			break
		}
		if colon := urlWord.run(s, i, 40); colon > i && colon < len(s) && s[colon] == ':' { // a header such as Proc-Type
			i = lineEnd(s, colon, limit)
			continue
		}
		stop := pemByte.run(s, i, limit-i)
		if stop == i {
			break
		}
		keyed += stop - i
		if stop-i >= 32 {
			last = stop
		} else {
			short++
		}
		i = stop
	}
	if keyed >= 64 && last > 0 {
		return lo, last
	}
	return 0, 0
}

var pemByte = newClass("0-9A-Za-z+/=")

func skipBreaks(s string, i, limit int) int {
	for i < limit {
		switch {
		case s[i] == '\n' || s[i] == '\r' || s[i] == ' ' || s[i] == '\t':
			i++
		case s[i] == '\\' && i+1 < limit && s[i+1] == '/':
			i++ // an escape that some write
		case s[i] == '\\' && i+1 < limit && (s[i+1] == 'n' || s[i+1] == 'r' || s[i+1] == '\\'):
			i += 2
			if s[i-1] == '\\' && i < limit && (s[i] == 'n' || s[i] == 'r') { // escaped twice
				i++
			}
		default:
			return i
		}
	}
	return i
}

// lineEnd is where the line at i ends, a \n of an escaped text included.
func lineEnd(s string, i, limit int) int {
	for i < limit && s[i] != '\n' && s[i] != '\\' {
		i++
	}
	return i
}

func findJWT(s string, at int) (int, int) {
	if !leftEdge(s, at) || at > 0 && (s[at-1] == '-' || s[at-1] == '.') {
		return 0, 0
	}
	head := urlWord.run(s, at, 4096)
	if head-at < 12 || head == len(s) || s[head] != '.' || !jwtHeader(s[at:head]) {
		return 0, 0
	}
	body := urlWord.run(s, head+1, 16<<10)
	if body-head < 8 || body == len(s) || s[body] != '.' {
		return 0, 0
	}
	end := urlWord.run(s, body+1, 4096)
	for end < len(s) && s[end] == '.' { // an encrypted token has five parts
		next := urlWord.run(s, end+1, 16<<10)
		if next == end+1 {
			break
		}
		end = next
	}
	if end-body < 17 {
		return 0, 0
	}
	return at, end
}

// awsReach is how far behind an access key id its secret is looked for.
const awsReach = 256

// findAWSSecret looks for the secret that belongs to the access key id at at.
func findAWSSecret(s string, at int) (int, int) {
	if !leftEdge(s, at) || classes['u'].run(s, at, 21) != at+20 {
		return 0, 0
	}
	return findRun(s, at+20, min(len(s), at+20+awsReach), base64Std, 40, func(v string) bool {
		return random(v) && lowers.any(v) && uppers.any(v) && !hexDigits.all(v) && !kebab(v)
	})
}

// findRun finds the first run of exactly n bytes of set that check accepts.
func findRun(s string, i, limit int, set *class, n int, check func(string) bool) (int, int) {
	for i < limit {
		end := set.run(s, i, limit-i)
		if end-i == n && (end == len(s) || !set[s[end]]) && check(s[i:end]) {
			return i, end
		}
		i = end + 1
	}
	return 0, 0
}

// nearby makes a finder of a run of exactly n bytes of set that stands within
// 80 bytes behind the word, on its line.
func nearby(set *class, n int, check func(string) bool) finder {
	if check == nil {
		check = random
	}
	return func(s string, at int) (int, int) {
		limit := min(len(s), at+80+n)
		if nl := strings.IndexByte(s[at:limit], '\n'); nl >= 0 {
			limit = at + nl
		}
		if !strings.ContainsAny(s[at:limit], "=:") { // prose and imports
			return 0, 0
		}
		return findRun(s, at, limit, set, n, check)
	}
}

func isUUID(v string) bool {
	return len(v) == 36 && v[8] == '-' && v[13] == '-' && v[18] == '-' && v[23] == '-' && random(strings.ReplaceAll(v, "-", ""))
}

func findAzureKey(s string, at int) (int, int) {
	lo := at + strings.IndexByte(s[at:], '=') + 1
	end := base64Std.run(s, lo, 100)
	if n := end - lo; n < 42 || n > 90 || !random(s[lo:end]) {
		return 0, 0
	}
	for end < len(s) && s[end] == '=' && end-lo < 92 {
		end++
	}
	return lo, end
}

var sasByte = newClass("0-9A-Za-z%+/=_-")

// findSAS takes the signature of a shared access signature: 32 bytes in base64,
// URL-encoded, in a query that also says which version or until when.
func findSAS(s string, at int) (int, int) {
	if at == 0 || strings.IndexByte("?&; \"'", s[at-1]) < 0 {
		return 0, 0
	}
	lo := at + len("sig=")
	end := sasByte.run(s, lo, 100)
	sig := s[lo:end]
	if len(sig) < 43 || len(sig) > 99 || !random(sig) || !strings.HasSuffix(sig, "=") && !strings.HasSuffix(strings.ToUpper(sig), "%3D") {
		return 0, 0
	}
	around := s[max(0, at-400):at]
	around = around[strings.LastIndexByte(around, '\n')+1:] + s[end:lineEnd(s, end, min(len(s), end+400))]
	if !strings.Contains(around, "se=") && !strings.Contains(around, "sv=") {
		return 0, 0
	}
	return lo, end
}

var azureByte = newClass("0-9A-Za-z_.~-")

// findAzureClient takes a client secret of Entra ID: three characters, a digit,
// "Q~", then 31 to 34 more.
func findAzureClient(s string, at int) (int, int) {
	lo := at - 3
	if lo < 0 || !azureByte.all(s[lo:at]) || !leftEdge(s, lo) {
		return 0, 0
	}
	end := azureByte.run(s, at, 40)
	if n := end - lo; n < 37 || n > 40 || !random(s[lo:end]) {
		return 0, 0
	}
	return lo, end
}

func findTwilio(s string, at int) (int, int) {
	end := classes['h'].run(s, at+2, 33)
	if !leftEdge(s, at) || end-at != 34 || end < len(s) && wordByte[s[end]] || !random(s[at+2:end]) {
		return 0, 0
	}
	return at, end
}

// findDiscord takes a bot token, three parts divided by dots, behind the word.
func findDiscord(s string, at int) (int, int) {
	limit := min(len(s), at+160)
	for i := at; i < limit && s[i] != '\n'; {
		end := urlWord.run(s, i, 40)
		if n := end - i; n >= 23 && n <= 28 && end < len(s) && s[end] == '.' {
			mid := urlWord.run(s, end+1, 8)
			if mid-end == 7 && mid < len(s) && s[mid] == '.' {
				last := urlWord.run(s, mid+1, 60)
				if last-mid >= 27 && last-mid <= 45 && random(s[i:last]) {
					return i, last
				}
			}
		}
		i = end + 1
	}
	return 0, 0
}

func findMailchimp(s string, at int) (int, int) {
	lo, end := at-32, digits.run(s, at+3, 3)
	if lo < 0 || end == at+3 || end < len(s) && wordByte[s[end]] || !classes['h'].all(s[lo:at]) || !leftEdge(s, lo) || !random(s[lo:at]) {
		return 0, 0
	}
	return lo, end
}

func findTelegram(s string, at int) (int, int) {
	lo := at
	for lo > 0 && at-lo < 11 && digits[s[lo-1]] {
		lo--
	}
	end := urlWord.run(s, at+1, 36)
	edge := leftEdge(s, lo) || lo >= 3 && s[lo-3:lo] == "bot"
	if n := at - lo; n < 8 || n > 10 || end-at != 36 || !edge || !random(s[at+1:end]) {
		return 0, 0
	}
	return lo, end
}

func findTerraform(s string, at int) (int, int) {
	lo, end := at-14, base64Any.run(s, at+len(".atlasv1."), 75)
	if n := end - at; lo < 0 || n < 69 || n > 79 || !alnum.all(s[lo:at]) || !leftEdge(s, lo) || !random(s[lo:at]+s[at+9:end]) {
		return 0, 0
	}
	return lo, end
}

// findURL takes the password of user:password@host. The usual passwords of local
// databases do not count.
func findURL(s string, at int) (int, int) {
	sep := strings.Index(s[at:], "://") + at
	if sep == 0 || !schemes[s[sep-1]] {
		return 0, 0
	}
	lo := 0
	i, limit := sep+3, min(len(s), sep+3+512)
scan:
	for ; i < limit; i++ {
		switch c := s[i]; {
		case c == '@':
			break scan
		case c == ':' && lo == 0:
			lo = i + 1
		case c <= ' ' || c >= 0x7f || strings.IndexByte("/?#\"'`<>\\()[]{}|,;$", c) >= 0 && (lo == 0 || strings.IndexByte("#$?,;()|", c) < 0):
			return 0, 0
		}
	}
	if lo == 0 || i == limit || i+1 == len(s) || !alnum[s[i+1]] && s[i+1] != '[' {
		return 0, 0
	}
	user, password := s[sep+3:lo-1], s[lo:i]
	if len(password) < 6 || password == user || common(password) || sample(password) || strings.HasPrefix(password, "$") || strings.HasPrefix(password, "%s") {
		return 0, 0
	}
	return lo, i
}

func findBearer(s string, at int) (int, int) {
	lo := at + len("bearer ")
	end := tokenByte.run(s, lo, 4096)
	if end-lo < 16 || end-lo == 4096 || !digits.any(s[lo:end]) || !random(s[lo:end]) || at > 0 && wordByte[s[at-1]] && !leftEdge(s, at) {
		return 0, 0
	}
	return lo, end
}

func findBasic(s string, at int) (int, int) {
	lo := at + len("basic ")
	end := base64Any.run(s, lo, 400)
	if end-lo < 12 || (end-lo)%4 != 0 {
		return 0, 0
	}
	plain, err := base64.StdEncoding.DecodeString(s[lo:end])
	if err != nil {
		return 0, 0
	}
	_, password, ok := strings.Cut(string(plain), ":")
	for _, c := range plain {
		if c <= ' ' || c > '~' {
			return 0, 0
		}
	}
	if !ok || len(password) < 6 || common(password) || sample(password) {
		return 0, 0
	}
	return lo, end
}
