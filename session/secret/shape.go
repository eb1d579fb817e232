package secret

import (
	"strconv"
	"strings"
)

// shape is a kind of token that its prefix gives away.
//
// A pattern is literal text with parts in braces: the letter of a class, then a
// length or a range of lengths. Classes: a letters and digits, l lower-case
// letters and digits, u upper-case letters and digits, h lower-case hex,
// H hex, d digits, w letters, digits, _ and -, b base64, s base64 of either
// alphabet with padding.
type shape struct {
	kind     string
	patterns []string
	// sure proves a token by a checksum or its structure, whatever its entropy.
	sure func(token string) bool
	// only makes sure the sole judge.
	only bool
}

// part is a piece of a pattern: literal text, then a run of a class.
type part struct {
	lit      string
	set      *class
	min, max int
}

var classes = map[byte]*class{
	'a': alnum, 'l': newClass("0-9a-z"), 'u': newClass("0-9A-Z"), 'h': newClass("0-9a-f"), 'H': hexDigits,
	'd': digits, 'w': urlWord, 'b': base64Std, 's': base64Any,
}

// parsePattern takes a pattern of the table apart. A wrong pattern yields no
// parts, which the test of the table reports.
func parsePattern(p string) []part {
	var parts []part
	for p != "" {
		lit, rest, found := strings.Cut(p, "{")
		if !found {
			return append(parts, part{lit: lit})
		}
		spec, after, ok := strings.Cut(rest, "}")
		if !ok || len(spec) < 2 || classes[spec[0]] == nil {
			return nil
		}
		low, high, ranged := strings.Cut(spec[1:], "-")
		if !ranged {
			high = low
		}
		a, errA := strconv.Atoi(low)
		b, errB := strconv.Atoi(high)
		if errA != nil || errB != nil || a > b {
			return nil
		}
		parts = append(parts, part{lit, classes[spec[0]], a, b})
		p = after
	}
	return parts
}

// finder looks at a place of s where its literal stands and returns where the
// secret begins and ends; hi is 0 when there is none. Its work is bounded,
// whatever s is.
type finder func(s string, at int) (lo, hi int)

// find makes the finder of one pattern.
func (sh shape) find(parts []part) finder {
	return func(s string, at int) (int, int) {
		if !leftEdge(s, at) {
			return 0, 0
		}
		i, longest := at, ""
		var first int
		for k, p := range parts {
			if !strings.HasPrefix(s[i:], p.lit) {
				return 0, 0
			}
			i += len(p.lit)
			if k == 0 {
				first = i
			}
			if p.set == nil {
				continue
			}
			limit := p.max
			if k == len(parts)-1 { // what continues is something else
				limit++
			}
			end := p.set.run(s, i, limit)
			if end-i < p.min || end-i > p.max {
				return 0, 0
			}
			if end-i > len(longest) {
				longest = s[i:end]
			}
			i = end
		}
		if i < len(s) && wordByte[s[i]] {
			return 0, 0
		}
		token := s[at:i]
		if sh.sure != nil && sh.sure(token) {
			return at, i
		}
		if len(longest) < 16 { // many short parts, as in a UUID
			longest = s[first:i]
		}
		if sh.only || !random(longest) {
			return 0, 0
		}
		return at, i
	}
}

// after checks the part of a token behind its last separator.
func after(sep byte, check func(string) bool) func(string) bool {
	return func(token string) bool { return check(token[strings.LastIndexByte(token, sep)+1:]) }
}

// shapes are the tokens known by their prefix. Sources are the providers' own
// documents of their formats. Where lengths have changed over the years the
// range covers all of them.
var shapes = []shape{
	{kind: "aws-access-key-id", patterns: []string{"AKIA{u16}", "ASIA{u16}", "ABIA{u16}", "ACCA{u16}"}},
	{kind: "aws-bedrock-key", patterns: []string{"ABSK{s60-200}"}},
	{kind: "github-token", patterns: []string{"ghp_{a36}", "gho_{a36}", "ghu_{a36}", "ghs_{a36}", "ghr_{a36-76}"}, sure: after('_', crcEnds)},
	{kind: "github-fine-grained-token", patterns: []string{"github_pat_{a22}_{a59}"}, sure: after('_', crcEnds)},
	{kind: "gitlab-token", patterns: []string{
		"glpat-{w20-64}", "glpat-{w27-300}.{h2}.{l9}", "gldt-{w20-64}", "glcbt-{w20-70}", "glptt-{h40}", "glft-{w20-64}",
		"glsoat-{w20-64}", "glrt-{w20-64}", "glimt-{w25}", "glagent-{w50}", "gloas-{h64}", "GR1348941{w20}",
	}},
	{kind: "slack-token", patterns: []string{
		"xoxb-{w20-150}", "xoxp-{w20-150}", "xoxa-{w20-150}", "xoxr-{w20-150}", "xoxs-{w20-150}", "xoxo-{w20-150}",
		"xoxe-{w20-180}", "xoxc-{w20-150}", "xoxd-{w20-250}", "xapp-{w40-150}",
	}},
	{kind: "slack-webhook", patterns: []string{"hooks.slack.com/services/T{u6-14}/B{u6-14}/{a20-28}", "hooks.slack.com/workflows/T{u6-14}/A{u6-14}/{d10-24}/{a20-28}"}},
	{kind: "discord-webhook", patterns: []string{"discord.com/api/webhooks/{d17-20}/{w60-72}", "discordapp.com/api/webhooks/{d17-20}/{w60-72}"}},
	{kind: "stripe-key", patterns: []string{"sk_live_{a16-120}", "sk_test_{a16-120}", "rk_live_{a16-120}", "rk_test_{a16-120}"}},
	{kind: "stripe-webhook-secret", patterns: []string{"whsec_{s32-80}"}},
	{kind: "anthropic-key", patterns: []string{"sk-ant-{w40-180}"}},
	{kind: "openrouter-key", patterns: []string{"sk-or-v1-{h64}"}},
	{kind: "openai-key", patterns: []string{"sk-proj-{w40-200}", "sk-svcacct-{w40-200}", "sk-admin-{w40-200}", "sk-{a32-64}"}},
	{kind: "google-api-key", patterns: []string{"AIza{w35}"}},
	{kind: "google-oauth-secret", patterns: []string{"GOCSPX-{w28}"}},
	{kind: "google-oauth-token", patterns: []string{"ya29.{w40-400}"}},
	{kind: "npm-token", patterns: []string{"npm_{a36}"}, sure: after('_', crcEnds)},
	{kind: "pypi-token", patterns: []string{"pypi-AgEIcHlwaS5vcmc{w50-250}", "pypi-AgENdGVzdC5weXBpLm9yZw{w50-250}"}},
	{kind: "crates-io-token", patterns: []string{"cio{a32}"}},
	{kind: "rubygems-key", patterns: []string{"rubygems_{h48}"}},
	{kind: "nuget-key", patterns: []string{"oy2{l43}"}},
	{kind: "docker-token", patterns: []string{"dckr_pat_{w24-40}", "dckr_oat_{w24-40}"}},
	{kind: "digitalocean-token", patterns: []string{"dop_v1_{h64}", "doo_v1_{h64}", "dor_v1_{h64}"}},
	{kind: "heroku-key", patterns: []string{"HRKU-AA{w50-70}", "HRKU-{h8}-{h4}-{h4}-{h4}-{h12}"}},
	{kind: "sendgrid-key", patterns: []string{"SG.{w22}.{w43}"}},
	{kind: "mailgun-key", patterns: []string{"key-{h32}", "pubkey-{h32}"}},
	{kind: "brevo-key", patterns: []string{"xkeysib-{h64}-{a16}", "xsmtpsib-{h64}-{a16}"}},
	{kind: "resend-key", patterns: []string{"re_{a8}_{a24}"}},
	{kind: "shopify-token", patterns: []string{"shpat_{H32}", "shpca_{H32}", "shppa_{H32}", "shpss_{H32}"}},
	{kind: "square-token", patterns: []string{"sq0atp-{w22}", "sq0csp-{w43}", "EAAA{w60}"}},
	{kind: "braintree-token", patterns: []string{"access_token$production${l16}${h32}", "access_token$sandbox${l16}${h32}"}},
	{kind: "databricks-token", patterns: []string{"dapi{h32}", "dapi{h32}-{d1-2}", "dose{h32}"}},
	{kind: "huggingface-token", patterns: []string{"hf_{a34}", "api_org_{a34}"}},
	{kind: "replicate-token", patterns: []string{"r8_{a37}"}},
	{kind: "groq-key", patterns: []string{"gsk_{a52}"}},
	{kind: "xai-key", patterns: []string{"xai-{a80}"}},
	{kind: "perplexity-key", patterns: []string{"pplx-{a40-60}"}},
	{kind: "tavily-key", patterns: []string{"tvly-{w32-60}"}},
	{kind: "langsmith-key", patterns: []string{"lsv2_pt_{h32}_{h10}", "lsv2_sk_{h32}_{h10}"}},
	{kind: "vault-token", patterns: []string{"hvs.{w24-200}", "hvb.{w80-300}", "hvr.{w24-200}"}},
	{kind: "pulumi-token", patterns: []string{"pul-{h40}"}},
	{kind: "doppler-token", patterns: []string{"dp.pt.{a40-44}", "dp.ct.{a40-44}", "dp.sa.{a40-44}", "dp.scim.{a40-44}", "dp.audit.{a40-44}"}},
	{kind: "linear-key", patterns: []string{"lin_api_{a40}", "lin_oauth_{h64}"}},
	{kind: "notion-token", patterns: []string{"ntn_{a40-50}", "secret_{a43}"}},
	{kind: "atlassian-token", patterns: []string{"ATATT3xFfGF0{s40-250}", "ATCTT3xFfGN0{s40-250}", "ATBB{a28-32}", "BBDC-{s40-48}"}},
	{kind: "figma-token", patterns: []string{"figd_{w40}", "figu_{w40}", "figo_{w40}"}},
	{kind: "grafana-token", patterns: []string{"glsa_{a32}_{H8}", "glc_{s32-400}"}},
	{kind: "newrelic-key", patterns: []string{"NRAK-{a27}", "NRJS-{h19}", "NRII-{w32}", "NRRA-{h42}"}},
	{kind: "sentry-token", patterns: []string{"sntrys_eyJ{s80-400}", "sntryu_{h64}", "sntryi_{h64}"}},
	{kind: "posthog-key", patterns: []string{"phx_{a43-50}"}},
	{kind: "postman-key", patterns: []string{"PMAK-{h24}-{h34}"}},
	{kind: "supabase-key", patterns: []string{"sbp_{h40}", "sb_secret_{w22}_{w8}", "sbp_oauth_{h40}"}},
	{kind: "vercel-token", patterns: []string{"vcp_{a20-70}", "vca_{a20-70}", "vci_{a20-70}", "vcr_{a20-70}", "vck_{a20-70}", "vercel_blob_rw_{a16}_{a28-36}"}},
	{kind: "netlify-token", patterns: []string{"nfp_{a36-40}"}},
	{kind: "fly-token", patterns: []string{"fo1_{w43}", "fm1a_{s60-600}", "fm1r_{s60-600}", "fm2_{s60-900}"}},
	{kind: "cloudflare-token", patterns: []string{"cfut_{a40-60}", "cfat_{a40-60}", "cfk_{a40-60}", "v1.0-{h24}-{h146}"}},
	{kind: "planetscale-token", patterns: []string{"pscale_tkn_{w32-64}", "pscale_pw_{w32-64}", "pscale_oauth_{w32-64}"}},
	{kind: "neon-key", patterns: []string{"napi_{l64}"}},
	{kind: "tailscale-key", patterns: []string{"tskey-auth-{a8-20}-{a20-40}", "tskey-api-{a8-20}-{a20-40}", "tskey-client-{a8-20}-{a20-40}"}},
	{kind: "circleci-token", patterns: []string{"CCIPAT_{a22}_{h40}", "CCIPRJ_{a22}_{h40}"}},
	{kind: "buildkite-token", patterns: []string{"bkua_{h40}"}},
	{kind: "sonarqube-token", patterns: []string{"sqp_{h40}", "squ_{h40}", "sqa_{h40}"}},
	{kind: "jfrog-token", patterns: []string{"AKCp{a60-80}"}},
	{kind: "contentful-token", patterns: []string{"CFPAT-{w43}"}},
	{kind: "airtable-token", patterns: []string{"pat{a14}.{h64}"}},
	{kind: "dynatrace-token", patterns: []string{"dt0c01.{u24}.{u64}", "dt0s01.{u8}.{u64}"}},
	{kind: "easypost-key", patterns: []string{"EZAK{a54}", "EZTK{a54}"}},
	{kind: "shippo-token", patterns: []string{"shippo_live_{h40}", "shippo_test_{h40}"}},
	{kind: "readme-key", patterns: []string{"rdme_{l70}"}},
	{kind: "prefect-key", patterns: []string{"pnu_{l36}"}},
	{kind: "infracost-key", patterns: []string{"ico-{a32}"}},
	{kind: "typeform-token", patterns: []string{"tfp_{w40-60}"}},
	{kind: "1password-token", patterns: []string{"ops_eyJ{s200-2000}"}},
	{kind: "age-secret-key", patterns: []string{"AGE-SECRET-KEY-1{u58}"}, sure: bech32Sound, only: true},
	{kind: "mapbox-token", patterns: []string{"sk.eyJ{w60-120}.{w20-30}"}},
	{kind: "facebook-token", patterns: []string{"EAACEdEose0cBA{a20-200}"}},
	{kind: "adafruit-key", patterns: []string{"aio_{a28}"}},
	{kind: "clojars-token", patterns: []string{"CLOJARS_{l60}"}},
	{kind: "flutterwave-key", patterns: []string{"FLWSECK-{H32}-X", "FLWSECK_TEST-{H32}-X"}},
	{kind: "frameio-token", patterns: []string{"fio-u-{w64}"}},
	{kind: "yandex-token", patterns: []string{"AQVN{w35-38}", "y0_{w50-60}"}},
	{kind: "alibaba-key-id", patterns: []string{"LTAI{a16-20}"}},
}
