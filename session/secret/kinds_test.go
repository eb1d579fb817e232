package secret

import (
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

// Samples are patterns like those of the table, expanded with a seeded source, so
// that no token stands in this file. {j} is the header of a JSON Web Token.
func expand(rng *rand.Rand, pattern string) string {
	return samplePart.ReplaceAllStringFunc(pattern, func(part string) string {
		if part == "{j}" {
			return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"HS256","typ":"JWT"}`))
		}
		return draw(rng, part[1:len(part)-1])
	})
}

var samplePart = regexp.MustCompile(`\{(j|[a-zA-Z]\d+)\}`)

func draw(rng *rand.Rand, spec string) string {
	alphabet := map[byte]string{
		'a': base62, 'l': "0123456789abcdefghijklmnopqrstuvwxyz", 'u': "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ",
		'h': "0123456789abcdef", 'd': "0123456789", 'b': base62 + "+/", 'x': "x", 'B': strings.ToUpper(bech32),
		'p': base62 + `!#%^*-_+=~`, 'q': base62 + `"\/<&`,
	}[spec[0]]
	var n int
	if _, err := fmt.Sscanf(spec[1:], "%d", &n); err != nil || alphabet == "" {
		panic("sample " + spec)
	}
	b := make([]byte, n)
	for i := range b {
		b[i] = alphabet[rng.IntN(len(alphabet))]
	}
	return string(b)
}

// kindSamples has for every kind texts that hold one (the part between « and » must be
// hidden) and texts that hold none.
var kindSamples = []struct {
	kind      string
	yes, none []string
}{
	{"aws-access-key-id", []string{"«AKIA{u16}»", "id=«ASIA{u16}»"}, []string{"AKIA{u15}", "AKIAIOSFODNN7EXAMPLE", "xAKIA{u16}"}},
	{"aws-bedrock-key", []string{"«ABSK{a109}»", "key «ABSK{a120}»."}, []string{"ABSK{a20}", "ABSK{x100}"}},
	{"github-token", []string{"«ghp_{a36}»", "git clone x «ghs_{a36}»", `\n«gho_{a36}»`}, []string{"ghp_{a30}", "ghp_{x36}", "sighp_{a36}"}},
	{"github-fine-grained-token", []string{"«github_pat_{a22}_{a59}»", "t: «github_pat_{a22}_{a59}»;"}, []string{"github_pat_{a22}", "github_pat_{x22}_{x59}"}},
	{"gitlab-token", []string{"«glpat-{a20}»", "«GR1348941{a20}»", "«glpat-{a27}.01.{l9}»"}, []string{"glpat-{a12}", "glpat-{x20}"}},
	{"slack-token", []string{"«xoxb-{d11}-{d12}-{a24}»", "«xoxp-{d11}-{d12}-{d12}-{h32}»"}, []string{"xoxb-{d8}", "xoxb-xxxxxxxxxxxx-xxxxxxxxxxxx-xxxxxxxx"}},
	{"slack-webhook", []string{"https://«hooks.slack.com/services/T{u10}/B{u10}/{a24}»", "«hooks.slack.com/services/T{u8}/B{u8}/{a24}»"}, []string{"hooks.slack.com/services/T00000000/B00000000/{x24}", "https://hooks.slack.com/services/"}},
	{"discord-webhook", []string{"https://«discord.com/api/webhooks/{d18}/{a68}»", "«discordapp.com/api/webhooks/{d19}/{a68}»"}, []string{"discord.com/api/webhooks/{d18}", "discord.com/api/webhooks/{d18}/{x68}"}},
	{"stripe-key", []string{"«sk_live_{a24}»", "«rk_test_{a99}»"}, []string{"sk_live_{a10}", "sk_test_{x24}"}},
	{"stripe-webhook-secret", []string{"«whsec_{a32}»", "secret is «whsec_{b40}»"}, []string{"whsec_{a8}", "whsec_{x32}"}},
	{"anthropic-key", []string{"«sk-ant-api03-{a93}AA»", "«sk-ant-oat01-{a86}»"}, []string{"sk-ant-api03-{a8}", "sk-ant-api03-{x60}"}},
	{"openrouter-key", []string{"«sk-or-v1-{h64}»", "k: «sk-or-v1-{h64}»"}, []string{"sk-or-v1-{h60}", "sk-or-v1-{x64}"}},
	{"openai-key", []string{"«sk-{a48}»", "«sk-proj-{a60}»"}, []string{"sk-xxxxxxxx", "sk-{x48}", "risk-{a48}", "sk-learn-pipeline-something-long"}},
	{"google-api-key", []string{"«AIza{a35}»", "?key=«AIza{a35}»&x"}, []string{"AIza{a30}", "AIza{x35}"}},
	{"google-oauth-secret", []string{"«GOCSPX-{a28}»", "x «GOCSPX-{a28}»"}, []string{"GOCSPX-{a20}", "GOCSPX-{x28}"}},
	{"google-oauth-token", []string{"«ya29.{a120}»", "«ya29.{a200}»"}, []string{"ya29.{a10}", "ya29.{x120}"}},
	{"npm-token", []string{"_authT=«npm_{a36}»", "«npm_{a36}»"}, []string{"npm_{a20}", "npm_config_registry_something_long_name"}},
	{"pypi-token", []string{"«pypi-AgEIcHlwaS5vcmc{a150}»", "«pypi-AgENdGVzdC5weXBpLm9yZw{a150}»"}, []string{"pypi-AgEIcHlwaS5vcmc", "pypi-{a150}"}},
	{"crates-io-token", []string{"«cio{a32}»", "login «cio{a32}»"}, []string{"cio{a30}", "precio{a32}"}},
	{"rubygems-key", []string{"«rubygems_{h48}»", ":k: «rubygems_{h48}»"}, []string{"rubygems_{h40}", "rubygems_version_and_others"}},
	{"nuget-key", []string{"«oy2{l43}»", "-k «oy2{l43}» -s"}, []string{"oy2{l40}", "boy2{l43}"}},
	{"docker-token", []string{"«dckr_pat_{a27}»", "«dckr_oat_{a32}»"}, []string{"dckr_pat_{a10}", "dckr_pat_{x27}"}},
	{"digitalocean-token", []string{"«dop_v1_{h64}»", "«doo_v1_{h64}»"}, []string{"dop_v1_{h60}", "dop_v1_{x64}"}},
	{"heroku-key", []string{"«HRKU-AA{a58}»", "«HRKU-{h8}-{h4}-{h4}-{h4}-{h12}»"}, []string{"HRKU-AA{a20}", "HRKU-{x60}"}},
	{"sendgrid-key", []string{"«SG.{a22}.{a43}»", "k='«SG.{a22}.{a43}»'"}, []string{"SG.{a22}.{a40}", "MSG.{a22}.{a43}"}},
	{"mailgun-key", []string{"«key-{h32}»", "api:«key-{h32}»"}, []string{"key-{h30}", "monkey-{h32}"}},
	{"brevo-key", []string{"«xkeysib-{h64}-{a16}»", "«xsmtpsib-{h64}-{a16}»"}, []string{"xkeysib-{h64}", "xkeysib-{x64}-{x16}"}},
	{"resend-key", []string{"«re_{a8}_{a24}»", "'«re_{a8}_{a24}»'"}, []string{"re_{a8}", "pre_{a8}_{a24}"}},
	{"shopify-token", []string{"«shpat_{h32}»", "«shpss_{h32}»"}, []string{"shpat_{h30}", "shpat_{x32}"}},
	{"square-token", []string{"«sq0atp-{a22}»", "«EAAA{a60}»"}, []string{"sq0atp-{a20}", "sq0atp-{x22}"}},
	{"braintree-token", []string{"«access_token$production${l16}${h32}»", "«access_token$sandbox${l16}${h32}»"}, []string{"access_token$production$", "access_token$production${l16}${h30}"}},
	{"databricks-token", []string{"«dapi{h32}»", "«dapi{h32}-2»"}, []string{"dapi{h30}", "dapi{x32}"}},
	{"huggingface-token", []string{"«hf_{a34}»", "«api_org_{a34}»"}, []string{"hf_{a30}", "hf_hub_download_with_a_long_name_here"}},
	{"replicate-token", []string{"«r8_{a37}»", "x=«r8_{a37}»"}, []string{"r8_{a30}", "r8_{x37}"}},
	{"groq-key", []string{"«gsk_{a52}»", "x «gsk_{a52}»"}, []string{"gsk_{a40}", "gsk_{x52}"}},
	{"xai-key", []string{"«xai-{a80}»", "x «xai-{a80}»"}, []string{"xai-{a70}", "xai-{x80}"}},
	{"perplexity-key", []string{"«pplx-{a48}»", "x «pplx-{a56}»"}, []string{"pplx-{a10}", "pplx-{x48}"}},
	{"tavily-key", []string{"«tvly-{a32}»", "x «tvly-dev-{a32}»"}, []string{"tvly-{a10}", "tvly-{x32}"}},
	{"langsmith-key", []string{"«lsv2_pt_{h32}_{h10}»", "«lsv2_sk_{h32}_{h10}»"}, []string{"lsv2_pt_{h32}", "lsv2_pt_{x32}_{x10}"}},
	{"vault-token", []string{"«hvs.{a24}»", "«hvb.{a150}»"}, []string{"hvs.{a10}", "hvs.{x24}"}},
	{"terraform-token", []string{"«{a14}.atlasv1.{a67}»", "t = \"«{a14}.atlasv1.{a67}»\""}, []string{"{a14}.atlasv1.{a20}", "foo.atlasv1.bar"}},
	{"pulumi-token", []string{"«pul-{h40}»", "x «pul-{h40}»"}, []string{"pul-{h30}", "pul-{x40}"}},
	{"doppler-token", []string{"«dp.pt.{a43}»", "«dp.sa.{a43}»"}, []string{"dp.pt.{a20}", "dp.pt.{x43}"}},
	{"linear-key", []string{"«lin_api_{a40}»", "«lin_oauth_{h64}»"}, []string{"lin_api_{a20}", "lin_api_{x40}"}},
	{"notion-token", []string{"«ntn_{a46}»", "«secret_{a43}»"}, []string{"ntn_{a20}", "secret_{x43}"}},
	{"atlassian-token", []string{"«ATATT3xFfGF0{a180}»", "«ATBB{a32}»"}, []string{"ATATT3xFfGF0", "ATBB{a10}"}},
	{"figma-token", []string{"«figd_{a40}»", "x «figu_{a40}»"}, []string{"figd_{a30}", "figd_{x40}"}},
	{"grafana-token", []string{"«glsa_{a32}_{h8}»", "«glc_{a80}»"}, []string{"glsa_{a32}", "glsa_{x32}_{x8}"}},
	{"newrelic-key", []string{"«NRAK-{a27}»", "«NRJS-{h19}»"}, []string{"NRAK-{a20}", "NRAK-{x27}"}},
	{"sentry-token", []string{"«sntrys_eyJ{a140}»", "«sntryu_{h64}»"}, []string{"sntrys_eyJ", "sntryu_{h60}"}},
	{"posthog-key", []string{"«phx_{a47}»", "x «phx_{a43}»"}, []string{"phx_{a20}", "phx_{x47}"}},
	{"postman-key", []string{"«PMAK-{h24}-{h34}»", "x «PMAK-{h24}-{h34}»"}, []string{"PMAK-{h24}", "PMAK-{x24}-{x34}"}},
	{"supabase-key", []string{"«sbp_{h40}»", "«sb_secret_{a22}_{a8}»"}, []string{"sbp_{h30}", "sb_secret_{x22}_{x8}"}},
	{"vercel-token", []string{"«vcp_{a56}»", "«vercel_blob_rw_{a16}_{a30}»"}, []string{"vcp_{a10}", "vercel_blob_rw_{x16}_{x30}"}},
	{"netlify-token", []string{"«nfp_{a36}»", "x «nfp_{a40}»"}, []string{"nfp_{a20}", "nfp_{x36}"}},
	{"fly-token", []string{"«fo1_{a43}»", "FlyV1 «fm2_{b200}»"}, []string{"fo1_{a20}", "fo1_{x43}"}},
	{"cloudflare-token", []string{"«cfut_{a48}»", "«v1.0-{h24}-{h146}»"}, []string{"cfut_{a20}", "v1.0-{h24}-{h100}"}},
	{"planetscale-token", []string{"«pscale_tkn_{a43}»", "«pscale_pw_{a43}»"}, []string{"pscale_tkn_{a20}", "pscale_pw_{x43}"}},
	{"neon-key", []string{"«napi_{l64}»", "x «napi_{l64}»"}, []string{"napi_{l40}", "napi_{x64}"}},
	{"tailscale-key", []string{"«tskey-auth-{a12}-{a32}»", "«tskey-api-{a12}-{a32}»"}, []string{"tskey-auth-{a12}", "tskey-auth-{x12}-{x32}"}},
	{"circleci-token", []string{"«CCIPAT_{a22}_{h40}»", "«CCIPRJ_{a22}_{h40}»"}, []string{"CCIPAT_{a22}", "CCIPAT_{x22}_{x40}"}},
	{"buildkite-token", []string{"«bkua_{h40}»", "x «bkua_{h40}»"}, []string{"bkua_{h30}", "bkua_{x40}"}},
	{"sonarqube-token", []string{"«sqp_{h40}»", "«squ_{h40}»"}, []string{"sqp_{h30}", "sqp_{x40}"}},
	{"jfrog-token", []string{"«AKCp{a69}»", "x «AKCp{a73}»"}, []string{"AKCp{a20}", "AKCp{x69}"}},
	{"contentful-token", []string{"«CFPAT-{a43}»", "x «CFPAT-{a43}»"}, []string{"CFPAT-{a20}", "CFPAT-{x43}"}},
	{"airtable-token", []string{"«pat{a14}.{h64}»", "x «pat{a14}.{h64}»"}, []string{"pat{a14}.{h30}", "pattern.matches"}},
	{"dynatrace-token", []string{"«dt0c01.{u24}.{u64}»", "«dt0s01.{u8}.{u64}»"}, []string{"dt0c01.{u24}", "dt0c01.{x24}.{x64}"}},
	{"easypost-key", []string{"«EZAK{a54}»", "«EZTK{a54}»"}, []string{"EZAK{a20}", "EZAK{x54}"}},
	{"shippo-token", []string{"«shippo_live_{h40}»", "«shippo_test_{h40}»"}, []string{"shippo_live_{h20}", "shippo_live_{x40}"}},
	{"readme-key", []string{"«rdme_{l70}»", "x «rdme_{l70}»"}, []string{"rdme_{l20}", "rdme_{x70}"}},
	{"prefect-key", []string{"«pnu_{l36}»", "x «pnu_{l36}»"}, []string{"pnu_{l20}", "pnu_{x36}"}},
	{"infracost-key", []string{"«ico-{a32}»", "x «ico-{a32}»"}, []string{"ico-{a20}", "ico-{x32}"}},
	{"typeform-token", []string{"«tfp_{a44}»", "x «tfp_{a59}»"}, []string{"tfp_{a20}", "tfp_{x44}"}},
	{"1password-token", []string{"«ops_eyJ{a400}»", "x «ops_eyJ{a900}»"}, []string{"ops_eyJ{a20}", "ops_{x400}"}},
	{"mapbox-token", []string{"«sk.eyJ{a80}.{a22}»", "x «sk.eyJ{a90}.{a22}»"}, []string{"sk.eyJ{a20}", "sk.eyJ{x80}.{x22}"}},
	{"facebook-token", []string{"«EAACEdEose0cBA{a100}»", "x «EAACEdEose0cBA{a50}»"}, []string{"EAACEdEose0cBA", "EAACEdEose0cBA{x100}"}},
	{"adafruit-key", []string{"«aio_{a28}»", "x «aio_{a28}»"}, []string{"aio_{a20}", "aio_{x28}"}},
	{"clojars-token", []string{"«CLOJARS_{l60}»", "x «CLOJARS_{l60}»"}, []string{"CLOJARS_{l20}", "CLOJARS_{x60}"}},
	{"flutterwave-key", []string{"«FLWSECK-{h32}-X»", "«FLWSECK_TEST-{h32}-X»"}, []string{"FLWSECK-{h32}", "FLWSECK-{x32}-X"}},
	{"frameio-token", []string{"«fio-u-{a64}»", "x «fio-u-{a64}»"}, []string{"fio-u-{a20}", "fio-u-{x64}"}},
	{"yandex-token", []string{"«AQVN{a36}»", "«y0_{a56}»"}, []string{"AQVN{a20}", "y0_{x56}"}},
	{"alibaba-key-id", []string{"«LTAI{a20}»", "x «LTAI{a16}»"}, []string{"LTAI{a10}", "LTAI{x20}"}},

	{"private-key", []string{
		"«-----BEGIN RSA PRIVATE KEY-----\n{b64}\n{b64}\n{b30}==\n-----END RSA PRIVATE KEY-----»\n",
		`{"k":"«-----BEGIN PRIVATE KEY-----\n{b64}\n{b64}\n-----END PRIVATE KEY-----»\n"}`,
		"«-----BEGIN OPENSSH PRIVATE KEY-----\n{b70}\n{b70}»\nand no end",
	}, []string{
		"-----BEGIN PUBLIC KEY-----\n{b64}\n-----END PUBLIC KEY-----\n",
		"-----BEGIN PRIVATE KEY-----\n...\n-----END PRIVATE KEY-----\n",
		"expects a line of -----BEGIN RSA PRIVATE KEY----- first",
	}},
	{"jwt", []string{"«{j}.{a60}.{a43}»", "x=«{j}.{a200}.{a86}»;"}, []string{"{j}", "eyJ{a40}.{a40}.{a40}", "{j}.{a60}."}},
	{"aws-secret-key", []string{"AKIA{u16}\n«{b40}»\n", "AKIA{u16},«{b40}»"}, []string{"AKIA{u16} {h40}", "{b40}"}},
	{"azure-storage-key", []string{"AccountName=x;AccountKey=«{b86}==»;Suffix", "SharedAccessKey=«{b43}=»"}, []string{"AccountKey={b20}", "AccountKey={x86}=="}},
	{"azure-sas", []string{"https://x/y?sv=2022-11-02&se=2024&sig=«{a43}%3D»", "?sig=«{a43}%3D»&se=1"}, []string{"?sig={a43}%3D", "?sv=1&sig={a20}%3D"}},
	{"azure-client-secret", []string{"«{a3}8Q~{a34}»", "x «{a3}7Q~{a31}»"}, []string{"{a3}8Q~{a10}", "x8Q~{a34}"}},
	{"twilio-key", []string{"«SK{h32}»", "x «SK{h32}»"}, []string{"SK{h30}", "TASK{h32}"}},
	{"twilio-auth-token", []string{"TWILIO_AUTH: «{h32}»", "twilio.token = '«{h32}»'"}, []string{"twilio {h32}", "twilio: {h40}"}},
	{"heroku-api-key", []string{"HEROKU_ID=«{h8}-{h4}-{h4}-{h4}-{h12}»", "heroku: \"«{h8}-{h4}-{h4}-{h4}-{h12}»\""}, []string{"heroku {h8}-{h4}-{h4}-{h4}-{h12}", "uuid: {h8}-{h4}-{h4}-{h4}-{h12}"}},
	{"cloudflare-api-token", []string{"CLOUDFLARE_X=«{a40}»", "cloudflare: '«{a40}»'"}, []string{"cloudflare {a40}", "cloudflare: {a30}"}},
	{"discord-bot-token", []string{"DISCORD=«M{a25}.{a6}.{a38}»", "discord.login('«N{a23}.{a6}.{a27}»')"}, []string{"discord.com", "M{a25}.{a6}.{a38}"}},
	{"mailchimp-key", []string{"«{h32}-us12»", "x=«{h32}-us6»"}, []string{"{h32}-us", "en-us1", "{h30}-us12"}},
	{"telegram-bot-token", []string{"«{d10}:AA{a33}»", "/bot«{d9}:AA{a33}»/send"}, []string{"12:AA{a33}", "{d10}:AA{a20}"}},
	{"postgres-password", []string{"postgres://app:«{a16}»@db/x", "postgresql://u:«{p12}»@h:5432"}, []string{"postgres://postgres:postgres@localhost/x", "postgres://u:${PW}@h"}},
	{"mysql-password", []string{"mysql://app:«{a16}»@db/x", "mariadb://u:«{a12}»@h"}, []string{"mysql://root:password@localhost", "mysql://h/x"}},
	{"mongodb-password", []string{"mongodb://app:«{a16}»@db/x", "mongodb+srv://u:«{a12}»@h.net"}, []string{"mongodb://localhost:27017/x", "mongodb+srv://user:<password>@x"}},
	{"redis-password", []string{"redis://:«{a16}»@db/0", "rediss://u:«{a12}»@h"}, []string{"redis://localhost:6379/0", "redis://:secret@h"}},
	{"amqp-password", []string{"amqp://app:«{a16}»@mq/", "amqps://u:«{a12}»@h"}, []string{"amqp://guest:guest@localhost", "amqp://h:5672/x@y"}},
	{"url-password", []string{"https://me:«{a16}»@host/x", "ftp://u:«{a12}»@h"}, []string{"https://host:8080/@scope/pkg", "https://user:password@example.com", "git@host:me/repo"}},
	{"bearer-token", []string{"Authorization: Bearer «{a40}»", "-H 'bearer «{a30}»'"}, []string{"Bearer authentication", "Bearer YOUR_API_KEY_HERE_PLEASE", "Bearer {x40}"}},
	{"basic-auth", []string{"Authorization: Basic «" + base64.StdEncoding.EncodeToString([]byte("joe:Kd83hxWq")) + "»", "basic «" + base64.StdEncoding.EncodeToString([]byte("me:zz91-Kfj3")) + "»"}, []string{"basic understanding", "Basic {x20}"}},
	{"assigned-secret", []string{
		`password = "«{p16}»"`, `{"api_key": "«{a24}»"}`, "DB_PASSWORD=«{a12}»\n", "client_secret: «{a32}»", `\"token\": \"«{a24}»\"`,
	}, []string{
		`password = "development"`, `token := lexer.next2(x, y3)`, "max_tokens: 4096", `secret = os.Getenv("APP_SECRET")`,
		`password: string;`, `token = parseTokenFromHeader2`, `secretName: my-db-secret-1`, `token_type = "a1B2c3D4e5F6"`,
		`api_key="YOUR_API_KEY"`, "export API_TOKEN=$OTHER_TOKEN1", `password = "${DB_PASSWORD_1}"`, "PASSWORD=/run/secrets/db1",
		`fail("the credential: "+err2.Error())`, `{"access_token":"token-%d"}`,
	}},
}

func split(sample string) (text, hidden string) {
	before, rest, ok := strings.Cut(sample, "«")
	if !ok {
		return sample, ""
	}
	hidden, after, _ := strings.Cut(rest, "»")
	return before + hidden + after, hidden
}

func detectVault(t testing.TB) *Vault {
	t.Helper()
	v, err := New(Options{Key: []byte("a key of tests")})
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestKinds(t *testing.T) {
	tested := map[string]bool{}
	for _, k := range kindSamples {
		tested[k.kind] = true
		t.Run(k.kind, func(t *testing.T) {
			if len(k.yes) < 2 || len(k.none) < 2 {
				t.Fatal("a kind needs two texts that hold it and two that do not")
			}
			for seed := range uint64(40) {
				rng := rand.New(rand.NewPCG(seed, 7))
				v := detectVault(t)
				for _, y := range k.yes {
					checkHidden(t, v, k.kind, expand(rng, y))
				}
				v = detectVault(t) // nothing learned from above
				for _, n := range k.none {
					text := expand(rng, n)
					for _, f := range v.Report(text) {
						if f.Kind == k.kind {
							t.Errorf("%q: reports a secret %q", text, text[f.Offset:f.Offset+f.Length])
						}
					}
				}
			}
		})
	}
	tested["age-secret-key"] = true // has a checksum: tested apart
	for _, sh := range shapes {
		if !tested[sh.kind] {
			t.Errorf("%s has no samples", sh.kind)
		}
		for _, p := range sh.patterns {
			if parts := parsePattern(p); len(parts) == 0 || len(parts[0].lit) < 3 {
				t.Errorf("%s: the pattern %q is wrong or begins with less than three fixed bytes", sh.kind, p)
			}
		}
	}
	for _, d := range detectors {
		if !tested[d.kind] {
			t.Errorf("%s has no samples", d.kind)
		}
	}
}

func checkHidden(t *testing.T, v *Vault, kind, sample string) {
	t.Helper()
	text, secret := split(sample)
	out := v.Hide(text)
	if strings.Contains(out, secret) {
		t.Fatalf("%q is not hidden in %q", secret, text)
	}
	if back := v.Restore(out); back != text {
		t.Fatalf("restored %q, want %q", back, text)
	}
	if again := v.Hide(out); again != out {
		t.Fatalf("hidden twice: %q, once: %q", again, out)
	}
	for _, f := range v.Report(text) {
		if f.Kind == kind {
			return
		}
	}
	t.Errorf("%q: no finding of this kind, but %v", text, v.Report(text))
}

func TestChecksumProves(t *testing.T) {
	body := strings.Repeat("ab", 15) // too plain for chance
	sum := crc32.ChecksumIEEE([]byte(body))
	var tail [6]byte
	for i := 5; i >= 0; i-- {
		tail[i], sum = base62[sum%62], sum/62
	}
	if v := detectVault(t); len(v.Report("ghp_"+body+string(tail[:]))) != 1 {
		t.Error("a token with a sound checksum is not found")
	} else if len(v.Report("ghp_"+body+"aaaaaa")) != 0 {
		t.Error("a plain text with a wrong checksum is found")
	}
}
