package sqlview_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	_ "modernc.org/sqlite"
	"pgregory.net/rapid"

	"github.com/burin-dev/burin/internal/platform/document/sqlview"
)

const schema = `
CREATE TABLE users (id INTEGER PRIMARY KEY, name TEXT NOT NULL, born DATE, photo BLOB, score REAL);
INSERT INTO users VALUES (1, 'Ann', '1990-05-01', x'00ff', 1.5), (2, 'Bob', NULL, NULL, 2), (3, 'Cy' || char(10) || 'd', '2001-01-01 10:20:30', NULL, -1e30);
CREATE TABLE "odd:name?" (k, v);
INSERT INTO "odd:name?" VALUES (7, 'number'), ('7', 'text');
CREATE TABLE plain (k, v);
CREATE TABLE pairs (a, b, PRIMARY KEY (a, b)) WITHOUT ROWID;
CREATE TABLE tags (tag TEXT PRIMARY KEY, n) WITHOUT ROWID;
INSERT INTO tags VALUES ('x', 1);
CREATE TABLE child (id INTEGER PRIMARY KEY, parent REFERENCES users);
CREATE VIEW adults AS SELECT name FROM users WHERE name = 'Ann';
CREATE VIRTUAL TABLE notes USING fts5(body);
INSERT INTO notes VALUES ('hello world');
CREATE TABLE seq (n INTEGER PRIMARY KEY);
WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c WHERE n < 600) INSERT INTO seq SELECT n FROM c;`

func create(t testing.TB, pragma string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "a b%#?.db")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "#", "%23", "?", "%3f", " ", "%20").Replace(file))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec(pragma + ";" + schema); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestQuery(t *testing.T) {
	file := create(t, "")
	for _, tt := range []struct{ selector, want string }{
		{"", `
table         | kind  | rows
------------- | ----- | ----
adults        | view  | 1
child         | table | 0
notes         | table | 1
notes_config  | table | 1
notes_content | table | 1
notes_data    | table | 3
notes_docsize | table | 1
notes_idx     | table | 1
odd:name?     | table | 2
pairs         | table | 0
plain         | table | 0
seq           | table | 600
tags          | table | 1
users         | table | 3`},
		{"tags", `
CREATE TABLE tags (tag TEXT PRIMARY KEY, n) WITHOUT ROWID

1 rows; the first 1:

tag | n
--- | -
x   | 1`},
		{"USERS:1", `
id: 1
name: Ann
born: 1990-05-01
photo: <blob, 2 bytes>
score: 1.5`},
		{"users:3", "\nid: 3\nname: \nCy\nd\nborn: 2001-01-01 10:20:30\nphoto: NULL\nscore: -1e+30"},
		{"tags:x", "\ntag: x\nn: 1"},
		{"odd:name?:2", "\nk: 7\nv: text"},
		{"users?order=-name&limit=1&where=name LIKE '%b%' OR score>1", "\nid | name | born | photo | score\n-- | ---- | ---- | ----- | -----\n2  | Bob  | NULL | NULL  | 2\n[rows 1 to 1; more with offset=1]"},
		{"seq?limit=9999&offset=598&order=n desc", "\nn\n-\n2\n1"},
		{"seq?where=n%3C2", "\nn\n-\n1"},
		{"users?where=name%20=%20'nobody'", "\nNo rows."},
		{"?q=SELECT+name,length(photo)+FROM+users+WHERE+id=1", "\nname | length(photo)\n---- | -------------\nAnn  | 2"},
		{"?q=SELECT body FROM notes WHERE notes MATCH 'hel*' -- ;", "\nbody\n-----------\nhello world"},
		{"?q=PRAGMA table_info(tags);", "\ncid | name | type | notnull | dflt_value | pk\n--- | ---- | ---- | ------- | ---------- | --\n0   | tag  | TEXT | 1       | NULL       | 1\n1   | n    |      | 0       | NULL       | 0"},
		{"?q=SELECT born FROM users WHERE id < 3", "\nborn\n----------\n1990-05-01\nNULL"},
		{"?q=SELECT ';' AS \"a;b\" /* ; */", "\na;b\n---\n;"},
	} {
		t.Run(tt.selector, func(t *testing.T) {
			got, err := sqlview.Query(t.Context(), file, tt.selector)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(strings.TrimPrefix(tt.want, "\n"), strings.TrimSuffix(got, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestQueryRefuses(t *testing.T) {
	file := create(t, "")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.db")
	for _, tt := range []struct{ selector, want string }{
		{"nobody", `no table "nobody"; there are: adults, child`},
		{"users:", "key is missing"},
		{"users:99", `no row "99"`},
		{"pairs:1", "primary key of 2 columns"},
		{"adults:1", "view"},
		{"users?limit=0", "limit must be"},
		{"users?offset=-1", "offset must be"},
		{"users?order=id;drop", "no such column; it has id, name"},
		{"users?color=red", `unknown parameter "color"`},
		{"users?q=SELECT 1", "stands alone"},
		{"users?where=1) UNION SELECT (1", "closes a parenthesis"},
		{"users?where=1 UNION SELECT 1", "without UNION"},
		{"users?where=id=1 -- x", "comments"},
		{"users?where=1; DROP TABLE users", "semicolons"},
		{"users?where=nope = 1", "no such column"},
		{"?q=", "empty"},
		{"?q=DELETE FROM users", "not DELETE"},
		{"?q=SELECT 1; DELETE FROM users", "one statement"},
		{"?q=WITH x AS (SELECT 1) DELETE FROM users", "only reading"},
		{"?q=EXPLAIN DELETE FROM users", "only reading"},
		{"?q=PRAGMA writable_schema = 1", "only reading"},
		{"?q=PRAGMA journal_mode = delete", "only reading"},
		{"?q=ATTACH '" + other + "' AS o", "not ATTACH"},
		{"?q=SELECT load_extension('x')", "not authorized"},
		{"?q=SELECT * FROM users WHERE id = ?", "parameter"},
		{"?q=SELECT * FROM users WHERE id = :id", "parameter"},
		{"?limit=3", "table must stand"},
		{"?q=SELECT zeroblob(100000000)", "too big"},
	} {
		t.Run(tt.selector, func(t *testing.T) {
			got, err := sqlview.Query(t.Context(), file, tt.selector)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, %v; want an error with %q", got, err, tt.want)
			}
		})
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("reading changed the file")
	}
	if _, err := sqlview.Query(t.Context(), filepath.Join(t.TempDir(), "none.db"), ""); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing database: %v", err)
	}
	text := filepath.Join(t.TempDir(), "text.db")
	if err := os.WriteFile(text, []byte("just text"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlview.Query(t.Context(), text, ""); err == nil || !strings.Contains(err.Error(), "not a SQLite database") {
		t.Errorf("a text: %v", err)
	}
}

func TestQueryEndsWithContext(t *testing.T) {
	file := create(t, "")
	ctx, cancel := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		_, err := sqlview.Query(ctx, file, "?q=WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT max(n) FROM c")
		result <- err
	}()
	cancel()
	if err := <-result; !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// A database in WAL mode has side files while it is open. Reading one that is not
// leaves none behind; reading one that is sees what is not in the main file yet.
func TestWAL(t *testing.T) {
	file := create(t, "PRAGMA journal_mode = wal")
	list := func() []string {
		entries, err := os.ReadDir(filepath.Dir(file))
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, e := range entries {
			names = append(names, e.Name())
		}
		return names
	}
	before := list()
	if _, err := sqlview.Query(t.Context(), file, "users:1"); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, list()); diff != "" {
		t.Errorf("reading left files behind:\n%s", diff)
	}
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "#", "%23", "?", "%3f", " ", "%20").Replace(file))
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.Exec("INSERT INTO tags VALUES ('fresh', 2)"); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlview.Query(t.Context(), file, "tags:fresh"); err != nil {
		t.Errorf("a row in the log: %v", err)
	}
}

func TestManyRowsAndColumns(t *testing.T) {
	file := create(t, "")
	got, err := sqlview.Query(t.Context(), file, "?q=SELECT n, 'x' || n FROM seq")
	if err != nil {
		t.Fatal(err)
	}
	if lines := strings.Count(got, "\n"); lines != 502 || !strings.HasSuffix(got, "[the first 500 rows; the others are not shown]") {
		t.Errorf("%d lines, ending in %q", lines, got[len(got)-60:])
	}
	wide, err := sqlview.Query(t.Context(), file, "?q=SELECT '"+strings.Repeat("é", 100)+"' AS a, '"+strings.Repeat("b", 100)+"' AS b, '"+strings.Repeat("c", 100)+"' AS c, 1 AS d")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(wide) {
		if n := len([]rune(strings.TrimRight(line, "\n"))); n > 120 {
			t.Errorf("a line of %d characters: %q", n, line)
		}
	}
	columns := make([]string, 30)
	for i := range columns {
		columns[i] = fmt.Sprintf("'a longer value' AS c%d", i)
	}
	vertical, err := sqlview.Query(t.Context(), file, "?q=SELECT "+strings.Join(columns, ", "))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(vertical, "c29: a longer value\n") {
		t.Errorf("got %q", vertical)
	}
}

func TestWrite(t *testing.T) {
	file := create(t, "")
	for _, tt := range []struct{ selector, content, want, query, after string }{
		{"users", `{name: 'Di', score: +.5, born: null, /* c */ }`, "Inserted a row into users, rowid 4.", "users:4", "id: 4\nname: Di\nborn: NULL\nphoto: NULL\nscore: 0.5\n"},
		{"Users:4", "{\n// comment\n\"NAME\": \"a\\u00e9\\\nb\", score: 0x10}", `Updated row "4" in users.`, "users:4", "id: 4\nname: aéb\nborn: NULL\nphoto: NULL\nscore: 16\n"},
		{"users:4", " \n", `Deleted row "4" from users.`, "?q=SELECT count(*) AS n FROM users", "n\n-\n3"},
		{"users:99", "{name: 'x'}", `No row "99" in users; nothing was updated.`, "?q=SELECT count(*) AS n FROM users", "n\n-\n3"},
		{"users:99", "", `No row "99" in users; nothing was deleted.`, "?q=SELECT count(*) AS n FROM users", "n\n-\n3"},
		{"tags", `{tag: "it's; --", n: true}`, "Inserted a row into tags.", "tags:it's; --", "tag: it's; --\nn: 1\n"},
		{"child", "{}", "Inserted a row into child, rowid 1.", "child:1", "id: 1\nparent: NULL\n"},
		{"seq", `{n: 9007199254740993}`, "Inserted a row into seq, rowid 9007199254740993.", "?q=SELECT max(n) AS n FROM seq", "n\n----------------\n9007199254740993"},
	} {
		t.Run(tt.selector+tt.content, func(t *testing.T) {
			got, err := sqlview.Write(t.Context(), file, tt.selector, tt.content)
			if err != nil || got != tt.want {
				t.Fatalf("got %q, %v; want %q", got, err, tt.want)
			}
			after, err := sqlview.Query(t.Context(), file, tt.query)
			if err != nil || after != tt.after {
				t.Errorf("afterwards %q, %v; want %q", after, err, tt.after)
			}
		})
	}
}

func TestWriteRefuses(t *testing.T) {
	file := create(t, "")
	before, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ selector, content, want string }{
		{"", "{}", "needs a table"},
		{"users?limit=1", "{}", "no parameters"},
		{"users", "", "to delete a row name it"},
		{"users:", "{}", "key is missing"},
		{"users:1", "{}", "no column to update"},
		{"users", "[1]", "must be a JSON object"},
		{"users", "{name: }", "must be a JSON object"},
		{"users", "{name: 'x'} trailing", "follows the object"},
		{"users", "{name: {first: [1, {a: 2}]}}", "write an object as text"},
		{"users", "{nick: 'x'}", `no column "nick"; it has id, name`},
		{"users", "{name: 'x', NAME: 'y'}", "appears twice"},
		{"users", "{name: 99999999999999999999}", "64 bits"},
		{"users", "{name: 1e999}", "too large"},
		{"users", "{name: NaN}", "unknown value"},
		{"users", "{score: 1}", "NOT NULL"},
		{"child", "{parent: 42}", "FOREIGN KEY"},
		{"pairs:1", "{a: 2}", "primary key of 2 columns"},
		{"adults:1", "{name: 'x'}", "view"},
		{"nobody", "{}", "no table"},
		{"odd:name?", "{}", "no parameters"},
	} {
		t.Run(tt.selector+tt.content, func(t *testing.T) {
			got, err := sqlview.Write(t.Context(), file, tt.selector, tt.content)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %q, %v; want an error with %q", got, err, tt.want)
			}
		})
	}
	after, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(before) != string(after) {
		t.Error("refused writes changed the file")
	}
	missing := filepath.Join(t.TempDir(), "none.db")
	if _, err := sqlview.Write(t.Context(), missing, "t", "{}"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing database: %v", err)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("a missing database was created")
	}
}

// A column without a type may hold 7 and '7'. A key that means both changes
// neither.
func TestAmbiguousKey(t *testing.T) {
	file := create(t, "")
	db, err := sql.Open("sqlite", "file:"+strings.NewReplacer("%", "%25", "#", "%23", "?", "%3f", " ", "%20").Replace(file))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("CREATE TABLE loose (k PRIMARY KEY, v); INSERT INTO loose VALUES (7, 'a'), ('7', 'b'), (8, 'c')"); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if got, err := sqlview.Write(t.Context(), file, "loose:7", "{v: 'x'}"); err == nil || !strings.Contains(err.Error(), "fits 2 rows") {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := sqlview.Write(t.Context(), file, "loose:8", "{v: 'x'}"); err != nil {
		t.Error(err)
	}
	got, err := sqlview.Query(t.Context(), file, "loose")
	if err != nil || !strings.Contains(got, "7 | a\n7 | b\n8 | x") {
		t.Errorf("got %q, %v", got, err)
	}
}

// What is written can be read, whatever it is.
func TestWriteThenQuery(t *testing.T) {
	file := create(t, "")
	value := rapid.OneOf(
		rapid.Just[any](nil), rapid.Bool().AsAny(), rapid.Int64().AsAny(), rapid.Float64Range(-1e6, 1e6).AsAny(),
		rapid.StringMatching(`[ -~äöü€😀\n\t]{0,60}`).AsAny(),
	)
	id := int64(1000)
	rapid.Check(t, func(t *rapid.T) {
		id++
		k, v := value.Draw(t, "k"), value.Draw(t, "v")
		content, err := json.Marshal(map[string]any{"k": k, "v": v})
		if err != nil {
			t.Fatal(err)
		}
		said, err := sqlview.Write(t.Context(), file, "odd:name?", string(content))
		if err == nil {
			t.Fatalf("a name with a question mark: %s", said)
		}
		if _, err = sqlview.Write(t.Context(), file, "plain", string(content)); err != nil {
			t.Fatal(err)
		}
		got, err := sqlview.Query(t.Context(), file, fmt.Sprintf("?q=SELECT typeof(k) AS a, typeof(v) AS b, k IS %s AS c, v IS %s AS d FROM plain ORDER BY rowid DESC LIMIT 1", literal(k), literal(v)))
		if err != nil || !strings.HasSuffix(got, "| 1 | 1") {
			t.Fatalf("%s gave %s, %v", content, got, err)
		}
	})
}

// literal is a value as SQL.
func literal(v any) string {
	switch v := v.(type) {
	case nil:
		return "NULL"
	case bool:
		if v {
			return "1"
		}
		return "0"
	case string:
		return "'" + strings.ReplaceAll(v, "'", "''") + "'"
	case float64:
		b, _ := json.Marshal(v)
		return string(b)
	}
	return fmt.Sprint(v)
}

func FuzzSelector(f *testing.F) {
	file := create(f, "")
	for _, s := range []string{"users?where=a&limit=3", "?q=SELECT 'a''b' -- ;", "odd:name?:1", "?q=SELECT [a;b], `x`, \"y\" FROM t /* */;", "users:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, selector string) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		before, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if len(selector) > 200 {
			return
		}
		_, _ = sqlview.Query(ctx, file, selector) // most are errors
		after, err := os.ReadFile(file)
		if err != nil || string(before) != string(after) {
			t.Errorf("%q changed the database (%v)", selector, err)
		}
	})
}

func FuzzContent(f *testing.F) {
	for _, s := range []string{`{a: 'b\x41\u00e9\
c', "k": [1, {}], n: -0x1F, /* c */}`, `{a: 1.e3, // x
}`, `{"\ud83d\ude00": .5}`} {
		f.Add(s)
	}
	file := create(f, "")
	f.Fuzz(func(t *testing.T, content string) {
		if words, err := sqlview.Write(t.Context(), file, "pairs:1", content); err == nil {
			t.Errorf("%q was written: %s", content, words)
		}
	})
}
