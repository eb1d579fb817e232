package secret

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// A record stays a record, whatever is secret in it, and nothing else of it is touched.
func TestHideJSONKeepsTheShape(t *testing.T) {
	const password = "Tr0ub4dor8xQz9kk"
	v := newVault(t, Options{
		Env:     []string{"DB_PASSWORD=839201756143"},
		Entries: []Entry{{Type: Regex, Content: `"pin": "\d+"`}},
	})
	hidden := v.Hide("password='" + password + "'")
	shown := hidden[len("password='") : len(hidden)-1]
	number := v.Hide("839201756143")
	for _, tt := range []struct{ name, in, want string }{
		{
			"a quote that is never closed",
			`{"content":[{"text":"why? PGPASSWORD='` + password + `"}],"model":"claude-sonnet-4-5","stop":"tool_use_x1"}`,
			`{"content":[{"text":"why? PGPASSWORD='` + shown + `"}],"model":"claude-sonnet-4-5","stop":"tool_use_x1"}`,
		},
		{"a number", `{"pin":839201756143,"n":1}`, `{"pin":"` + number + `","n":1}`},
		{"a string in a string", `{"text":"{\"password\": \"` + password + `\"}"}`, `{"text":"{\"password\": \"` + shown + `\"}"}`},
		{"an escape", `{"text":"\u0054r0ub4dor8xQz9kk"}`, `{"text":"` + shown + `"}`},
		{"a list", `["x",{"password":"` + password + `"}]`, `["x",{"password":"` + shown + `"}]`},
		{"no JSON", `{"text":"PGPASSWORD='` + password, `{"text":"PGPASSWORD='` + shown},
		{"nothing", `{"text":"\n"}`, `{"text":"\n"}`},
	} {
		got := string(v.HideJSON([]byte(tt.in)))
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if n := len(v.ReportJSON([]byte(tt.in))); (n > 0) != (tt.in != tt.want) {
			t.Errorf("%s: %d findings", tt.name, n)
		}
		if left := v.ReportJSON([]byte(got)); len(left) > 0 {
			t.Errorf("%s: what was hidden still holds %v", tt.name, left)
		}
	}
	if got := v.Hide("claude-sonnet-4-5 tool_use_x1"); got != "claude-sonnet-4-5 tool_use_x1" {
		t.Errorf("words beside a secret were taken for one: %s", got)
	}
}

// What only the name of its field gives away is hidden also when no more values are
// searched for.
func TestHideJSONBeyondWhatIsLearned(t *testing.T) {
	v := detectVault(t)
	for i := range maxLearnt {
		v.Hide(sampleOf(uint64(i), "ghp_{a36}"))
	}
	secret := sampleOf(maxLearnt+1, "{a20}")
	in := fmt.Sprintf(`{"text":"a\tb","password":"%s","n":1}`, secret)
	out := string(v.HideJSON([]byte(in)))
	if strings.Contains(out, secret) || !json.Valid([]byte(out)) || v.RestoreArgs(out) != in {
		t.Errorf("%s\nbecomes %s", in, out)
	}
	if left := v.ReportJSON([]byte(out)); len(left) > 0 {
		t.Errorf("%s still holds %v", out, left)
	}
}

// A report names what is hidden by the string or number in which it stands, with the
// length and the placeholder of what is meant.
func TestReportJSON(t *testing.T) {
	secret, token := sampleOf(1, "{a20}"), sampleOf(2, "ghp_{a36}")
	const number = "839201756143"
	for name, tt := range map[string]struct {
		in, at string // the finding stands where at begins
		hidden string
		kind   string
		full   bool // no more values are searched for
	}{
		"by the name of its field":      {`{"text":"\u0061\n","password":"` + secret + `"}`, secret, secret, "assigned-secret", false},
		"within a string":               {`{"text":"take ` + token + ` with you","n":1}`, `take `, token, "github-token", false},
		"written with escapes":          {`{"text":"take \u0067` + token[1:] + `"}`, `take `, token, "github-token", false},
		"a number":                      {`{"n":` + number + `}`, number, number, "env:DB_PASSWORD", false},
		"beyond what can be remembered": {`{"text":"a\tb","password":"` + secret + `"}`, secret, secret, "assigned-secret", true},
	} {
		t.Run(name, func(t *testing.T) {
			v := newVault(t, Options{Env: []string{"DB_PASSWORD=" + number}})
			for i := range maxLearnt {
				if tt.full {
					v.Hide(sampleOf(uint64(i+10), "ghp_{a36}"))
				}
			}
			got := v.ReportJSON([]byte(tt.in))
			want := []Finding{{Kind: tt.kind, Offset: strings.Index(tt.in, tt.at), Length: len(tt.hidden)}}
			ignore := cmpopts.IgnoreFields(Finding{}, "Placeholder")
			if diff := cmp.Diff(want, got, ignore); diff != "" {
				t.Fatalf("(-want +got):\n%s", diff)
			}
			if hidden := string(v.HideJSON([]byte(tt.in))); got[0].Placeholder == "" || !strings.Contains(hidden, got[0].Placeholder) {
				t.Errorf("the placeholder %q is none of %s", got[0].Placeholder, hidden)
			}
		})
	}
}
