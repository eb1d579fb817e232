package secret

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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

func TestReportJSON(t *testing.T) {
	v := detectVault(t)
	secret := sampleOf(1, "{a20}")
	in := `{"text":"\u0061\n","password":"` + secret + `"}`
	got := v.ReportJSON([]byte(in))
	want := []Finding{{
		Kind: "assigned-secret", Offset: strings.Index(in, secret), Length: len(secret),
		Placeholder: v.Hide(secret), // which is known from now on
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
