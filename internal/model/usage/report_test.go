package usage

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
)

// seeded is a ledger with a few requests of some days.
func seeded(t testing.TB) *Ledger {
	t.Helper()
	l := open(t, t.TempDir())
	at := func(day int) time.Time { return time.Date(2026, 11, day, 23, 30, 0, 0, time.Local) }
	known := func(usd float64) *llm.Cost { return &llm.Cost{Total: llm.Dollars(usd)} }
	for _, r := range []Record{
		{Time: at(1), Session: "a", Project: "/w/p", Provider: "anthropic", Model: "claude", Usage: llm.Usage{Input: 100, Output: 10, CacheRead: 1000, CacheWrite: 50, Cost: known(2)}},
		{Time: at(1), Session: "a", Project: "/w/p", Provider: "anthropic", Model: "claude", Purpose: PurposeTitle, Usage: llm.Usage{Input: 1, Cost: known(0.25)}},
		{Time: at(2), Session: "b", Project: "/w/p/sub", Provider: "openai", Model: "gpt-5.1", Usage: llm.Usage{Input: 7, Cost: &llm.Cost{Total: llm.Dollars(0.5), Unreliable: true}}},
		{Time: at(8), Session: "c", Project: "/w/p_", Provider: "box", Model: "llama_1", Usage: llm.Usage{Input: 9}},
		{Time: at(8), Session: "c", Project: "/w/p_", Provider: "openai", Model: "gpt-5.1-mini", Usage: llm.Usage{Output: 3, Cost: &llm.Cost{Total: llm.Dollars(0.125), Unknown: true}}},
		{Time: at(30), Session: "d", Project: "/w/q", Provider: "box", Model: "llamax1", Usage: llm.Usage{Output: 5}},
	} {
		res, err := l.Reserve(context.Background(), Scope{}, Limits{}, plan(cent))
		if err != nil {
			t.Fatal(err)
		}
		if err := res.Settle(r); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func TestReport(t *testing.T) {
	l := seeded(t)
	day := func(d int) time.Time { return time.Date(2026, 11, d, 0, 0, 0, 0, time.Local) }
	tests := []struct {
		name  string
		query Query
		want  string // key:requests:cost:unknown:unreliable
	}{
		{"day", Query{}, "2026-11-01:2:2.25:0:0 2026-11-02:1:0.5:0:1 2026-11-08:2:0.125:2:0 2026-11-30:1:0:1:0"},
		{"week", Query{By: ByWeek}, "2026-W44:2:2.25:0:0 2026-W45:3:0.625:2:1 2026-W49:1:0:1:0"},
		{"month", Query{By: ByMonth}, "2026-11:6:2.875:3:1"},
		{"project", Query{By: ByProject}, "/w/p:2:2.25:0:0 /w/p/sub:1:0.5:0:1 /w/p_:2:0.125:2:0 /w/q:1:0:1:0"},
		{"model", Query{By: ByModel}, "anthropic/claude:2:2.25:0:0 openai/gpt-5.1:1:0.5:0:1 openai/gpt-5.1-mini:1:0.125:1:0 box/llama_1:1:0:1:0 box/llamax1:1:0:1:0"},
		{"provider", Query{By: ByProvider}, "anthropic:2:2.25:0:0 openai:2:0.625:1:1 box:2:0:2:0"},
		{"session", Query{By: BySession, Since: day(8)}, "c:2:0.125:2:0 d:1:0:1:0"},
		{"purpose", Query{By: ByPurpose}, "turn:5:2.625:3:1 title:1:0.25:0:0"},
		{"since", Query{Since: day(8)}, "2026-11-08:2:0.125:2:0 2026-11-30:1:0:1:0"},
		{"until", Query{Until: day(2)}, "2026-11-01:2:2.25:0:0"},
		{"to the second", Query{Since: day(1).Add(23*time.Hour + 31*time.Minute), Until: day(3)}, "2026-11-02:1:0.5:0:1"},
		{"of a folder", Query{Project: "/w/p", By: ByProject}, "/w/p:2:2.25:0:0 /w/p/sub:1:0.5:0:1"},
		{"of the root", Query{Project: "/", By: ByMonth}, "2026-11:6:2.875:3:1"},
		{"of a model", Query{Model: "gpt-5.1", By: ByModel}, "openai/gpt-5.1:1:0.5:0:1"},
		{"of a provider's model", Query{Model: "openai/GPT-5.1", By: ByModel}, "openai/gpt-5.1:1:0.5:0:1"},
		{"of models", Query{Model: "gpt-*", By: ByModel}, "openai/gpt-5.1:1:0.5:0:1 openai/gpt-5.1-mini:1:0.125:1:0"},
		{"an underscore is one", Query{Model: "llama_1", By: ByModel}, "box/llama_1:1:0:1:0"},
		{"of a provider", Query{Provider: "box", By: ByModel}, "box/llama_1:1:0:1:0 box/llamax1:1:0:1:0"},
		{"of a session", Query{Session: "b"}, "2026-11-02:1:0.5:0:1"},
		{"of nobody", Query{Session: "' OR 1=1 --"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			table, err := l.Report(context.Background(), tt.query)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, r := range table.Rows {
				got = append(got, fmt.Sprintf("%s:%d:%v:%d:%d", r.Key, r.Requests, r.Cost.Float(), r.Unknown, r.Unreliable))
			}
			if d := cmp.Diff(tt.want, strings.Join(got, " ")); d != "" {
				t.Error(d)
			}
		})
	}
	table, err := l.Report(context.Background(), Query{Until: day(2)})
	want := Row{Key: "total", Requests: 2, Input: 101, Output: 10, CacheRead: 1000, CacheWrite: 50, Cost: llm.Dollars(2.25)}
	if err != nil || table.Total != want {
		t.Errorf("total %+v, %v, want %+v", table.Total, err, want)
	}
	for _, by := range Groupings() {
		if got, err := ParseBy(string(by)); got != by || err != nil {
			t.Errorf("%s is read as %s, %v", by, got, err)
		}
	}
	if _, err := l.Report(context.Background(), Query{By: "colour"}); err == nil || !strings.Contains(err.Error(), "want one of day, week,") {
		t.Errorf("error %v, want the groupings", err)
	}
}

func TestRowsAreBounded(t *testing.T) {
	for by, want := range map[By]string{ByDay: "(others) 00002", ByModel: "02003 (others)"} {
		table := Table{By: by}
		for i := range MaxRows + 3 {
			table.Rows = append(table.Rows, Row{Key: fmt.Sprintf("%05d", i+1), Requests: 1, Cost: llm.USD(i)})
		}
		if by == ByDay {
			table.Rows = table.Rows[:MaxRows+1]
			want = "(others) 00003"
		}
		all := int64(len(table.Rows))
		table.finish()
		if len(table.Rows) != MaxRows || table.Total.Requests != all {
			t.Errorf("%s: %d rows of %d requests", by, len(table.Rows), table.Total.Requests)
		}
		var sum Row
		for _, r := range table.Rows {
			sum.add(r)
		}
		if sum.Requests != all || sum.Cost != table.Total.Cost {
			t.Errorf("%s: rows sum up to %+v, total %+v", by, sum, table.Total)
		}
		got := table.Rows[0].Key + " " + table.Rows[1].Key
		if by == ByModel {
			got = table.Rows[0].Key + " " + table.Rows[MaxRows-1].Key
		}
		if got != want {
			t.Errorf("%s: ends %s, want %s", by, got, want)
		}
	}
}

func TestText(t *testing.T) {
	l := seeded(t)
	table, err := l.Report(context.Background(), Query{})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		style Style
		want  string
	}{
		{Style{Width: 90, Unicode: true}, `
DAY         REQUESTS  INPUT  OUTPUT  CACHE R  CACHE W       COST
2026-11-01         2    101      10       1k       50      $2.25  ████████████████████████
2026-11-02         1      7       0        0        0   ~$0.5000  █████▍
2026-11-08         2      9       3        0        0  ≥ $0.1250  █▍
2026-11-30         1      0       5        0        0    unknown
total              6    117      18       1k       50    ≥ $2.88
Unknown or ≥: the cost of 3 of 6 requests is not known; models.yml sets prices for the requests to come.
About: a rate that stands in for one that is not known priced 1 of 6 requests.
`},
		{Style{}, `
DAY         REQUESTS  INPUT  OUTPUT  CACHE R  CACHE W        COST
2026-11-01         2    101      10       1k       50       $2.25  #############
2026-11-02         1      7       0        0        0    ~$0.5000  ###
2026-11-08         2      9       3        0        0  >= $0.1250  #
2026-11-30         1      0       5        0        0     unknown
total              6    117      18       1k       50    >= $2.88
Unknown or >=: the cost of 3 of 6 requests is not known; models.yml sets prices for the requests to come.
About: a rate that stands in for one that is not known priced 1 of 6 requests.
`},
		{Style{Width: 40, Unicode: true}, `
DAY         INPUT  OUTPUT       COST
2026-11-01    101      10      $2.25
2026-11-02      7       0   ~$0.5000
2026-11-08      9       3  ≥ $0.1250
2026-11-30      0       5    unknown
total         117      18    ≥ $2.88
Unknown or ≥: the cost of 3 of 6 requests is not known; models.yml sets prices for the requests to come.
About: a rate that stands in for one that is not known priced 1 of 6 requests.
`},
	} {
		if d := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), table.Text(tt.style)); d != "" {
			t.Errorf("%+v: %s", tt.style, d)
		}
	}
}

func TestTextFits(t *testing.T) {
	table := Table{By: ByProject, Rows: []Row{
		{Key: "/home/somebody/with/a/very/long/path/to/a/folder/that/goes/on/burin", Requests: 1_000_000, Input: 123_456_789_012, Cost: llm.Dollars(1234.5)},
		{Key: "\x1b[2Jevil\nname", Requests: 1, Cost: 1},
		{Key: "", Requests: 1},
	}}
	table.finish()
	for _, unicode := range []bool{true, false} {
		for _, width := range []int{100, 85, 66, 50, 40, 30, 20} {
			text := table.Text(Style{Width: width, Unicode: unicode})
			for line := range strings.Lines(text) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%d columns of %d: %q", n, width, line)
				}
			}
			for _, want := range []string{"burin ", "?[2Jevil?name", "<$0.0001", "$0.00", "123G", "1000000"} {
				if width == 100 && !strings.Contains(text, want) {
					t.Errorf("%q is missing in\n%s", want, text)
				}
			}
			if strings.Contains(text, "\x1b") || !unicode && strings.ContainsFunc(text, func(r rune) bool { return r > 126 }) {
				t.Errorf("characters that were not allowed: %q", text)
			}
		}
	}
}

// Where there is no room for bars, names have it.
func TestTextOfLongNames(t *testing.T) {
	table := Table{By: ByModel, Rows: []Row{{Key: "anthropic/claude-opus", Requests: 1, Input: 5, Output: 7, Cost: llm.Dollars(1)}}}
	table.finish()
	if text := table.Text(Style{Width: 43, Unicode: true}); !strings.Contains(text, "anthropic/claude-opus      5       7  $1.00\n") {
		t.Errorf("it is\n%s", text)
	}
}

func TestMoney(t *testing.T) {
	for usd, want := range map[llm.USD]string{
		0: "$0.00", 1: "<$0.0001", 49_999: "<$0.0001", 50_000: "$0.0001", 12_345_678: "$0.0123", 999_949_999: "$0.9999",
		1_000_000_000: "$1.00", 1_234_567_890: "$1.23", 123_456_789_000_000: "$123456.79", -5e8: "-$0.5000",
	} {
		if got := money(usd); got != want {
			t.Errorf("%d: %s, want %s", usd, got, want)
		}
	}
}

func TestExports(t *testing.T) {
	table := Table{By: ByModel, Rows: []Row{
		{Key: "=HYPERLINK(\"http://x\",\"y\")", Requests: 1, Input: 2, Output: 3, CacheRead: 4, CacheWrite: 5, Cost: 1},
		{Key: "a,b", Requests: 1, Unknown: 1},
		{Key: "c", Requests: 2, Cost: llm.Dollars(1.5), Unknown: 1, Unreliable: 1},
		{Key: "free", Requests: 1},
		{Key: "d", Requests: 1, Cost: llm.Dollars(2), Unreliable: 1},
	}}
	for _, r := range table.Rows {
		table.Total.add(r)
	}
	var b bytes.Buffer
	if err := table.WriteCSV(&b); err != nil {
		t.Fatal(err)
	}
	want := `model,requests,input,output,cache_read,cache_write,cost_usd,cost_is,unknown,unreliable
"'=HYPERLINK(""http://x"",""y"")",1,2,3,4,5,0.000000001,exact,0,0
"a,b",1,0,0,0,0,,unknown,1,0
c,2,0,0,0,0,1.5,at_least,1,1
free,1,0,0,0,0,0,exact,0,0
d,1,0,0,0,0,2,approximate,0,1
`
	if d := cmp.Diff(want, b.String()); d != "" {
		t.Error(d)
	}
	out, err := json.Marshal(table)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"by":"model","rows":[{"key":"=HYPER`,
		`{"key":"a,b","requests":1,"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"costIs":"unknown","unknown":1,"unreliable":0}`,
		`{"key":"free","requests":1,"input":0,"output":0,"cacheRead":0,"cacheWrite":0,"cost":0,"costIs":"exact","unknown":0,"unreliable":0}`,
		`"cost":3.500000001,"costIs":"at_least","unknown":2,"unreliable":2}}`,
	} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is missing in %s", want, out)
		}
	}
	if out, err := json.Marshal(Table{By: ByDay}); err != nil || !strings.Contains(string(out), `"rows":[]`) {
		t.Errorf("an empty table is %s, %v", out, err)
	}
}

// Whatever a name holds, the export reads back as it was, no cell is a formula,
// and the text has one line per row.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "=1+1", " -2", "\t=x", "\r\n@x", "＝1", "a,\"b\"", "\x1b]0;x\a", "'=1", "\xff", "anthropic/claude"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		table := Table{By: ByModel, Rows: []Row{{Key: name, Requests: 1}, {Key: "z", Cost: cent}}}
		var b bytes.Buffer
		if err := table.WriteCSV(&b); err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(&b).ReadAll()
		if err != nil || len(rows) != 3 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		cell := rows[1][0]
		if back := strings.ReplaceAll(name, "\r\n", "\n"); cell != back && cell != "'"+back { // the reader folds line ends
			t.Errorf("%q became %q", name, cell)
		}
		if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@\t\r\n") {
			t.Errorf("a spreadsheet runs %q", cell)
		}
		if n := strings.Count(table.Text(Style{Width: 80, Unicode: true}), "\n"); n != 4 {
			t.Errorf("%d lines of text, want 4", n)
		}
	})
}

// However many goroutines share the lines, each line is added up once.
func TestShares(t *testing.T) {
	l := seeded(t)
	ctx := context.Background()
	if err := l.flush(ctx); err != nil {
		t.Fatal(err)
	}
	for share := range int64(8) {
		table := Table{By: ByProvider}
		var err error
		if table.Rows, err = groups(ctx, l.file.db, Query{By: ByProvider}, share+1); err != nil {
			t.Fatal(err)
		}
		table.finish()
		if table.Total.Requests != 6 || table.Total.Cost != llm.Dollars(2.875) || len(table.Rows) != 3 {
			t.Errorf("shares of %d: total %+v in %d rows", share+1, table.Total, len(table.Rows))
		}
	}
}
