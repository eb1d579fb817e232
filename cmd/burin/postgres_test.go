package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/testscript"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/pgtest"
	"github.com/burin-dev/burin/llm/anthropic"
	"github.com/burin-dev/burin/llm/llmtest"
	"github.com/burin-dev/burin/transcript/place"
)

// Scripts with a PostgreSQL server. $PG is the address of a database, $ANN that of a role that
// must give its password, quince, and $GUEST that of one that may make no tables.
func TestPostgresScripts(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	server.Exec(t, "postgres", "CREATE ROLE ann LOGIN PASSWORD 'quince' IN ROLE "+pgtest.Guarded, "CREATE ROLE guest LOGIN")
	p := scripts("testdata/postgres")
	setup := p.Setup
	p.Setup = func(env *testscript.Env) error {
		if err := setup(env); err != nil {
			return err
		}
		address := server.Database(t)
		name := strings.TrimSuffix(address[strings.LastIndexByte(address, '/')+1:], "?sslmode=disable")
		server.Exec(t, "postgres", "GRANT ALL ON DATABASE "+name+" TO ann")
		env.Setenv("PG", address)
		env.Setenv("PGPORT", fmt.Sprint(server.Port))
		env.Setenv("PGNAME", name)
		env.Setenv("ANN", server.AddressOf("ann", name))
		env.Setenv("GUEST", server.AddressOf("guest", name))
		return nil
	}
	testscript.Run(t, p)
}

// The commands of docs/sessions.md are run as they stand there, against another address.
func TestPostgresPage(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{})
	address, ok := strings.CutSuffix(server.Database(t), "?sslmode=disable")
	if !ok {
		t.Fatal(address)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "sessions.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Sessions in PostgreSQL\n")
	section, _, _ = strings.Cut(section, "\n## ")
	lines := regexp.MustCompile(`(?m)^    burin .*$`).FindAllString(section, -1)
	if len(lines) < 5 {
		t.Fatalf("there are %d examples", len(lines))
	}
	model, err := llmtest.Serve(anthropic.Server{}, llmtest.Script{Turns: []llmtest.Turn{{Parts: []llmtest.Part{{Text: "one"}}}, {Parts: []llmtest.Part{{Text: "two"}}}}})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	burin, err := exec.LookPath("burin")
	if err != nil {
		t.Fatal(err)
	}
	cmd := command(t)
	_, host, _ := strings.Cut(address, "://")
	for _, line := range lines {
		line = strings.Replace(line, "burin", "'"+burin+"'", 1)
		line = regexp.MustCompile(`ann@db\.example\.com(:5432)?/talks`).ReplaceAllLiteralString(line, host)
		if strings.Contains(line, " -p ") {
			line, _, _ = strings.Cut(line, "  #")
			line += " --no-tools --model local/x --api anthropic-messages --base-url " + model.URL
		}
		sh := exec.Command("sh", "-c", line)
		sh.Env, sh.Dir = append(cmd.Env, "PGSSLMODE=disable"), cmd.Dir
		if out, err := sh.CombinedOutput(); err != nil || len(out) == 0 {
			t.Errorf("%s: %v\n%s", line, err, out)
		}
	}
	socket := regexp.MustCompile(`postgres:///\S+host=[^` + "`" + `]*`).FindString(section)
	if a := place.Parse(socket); !a.Server() {
		t.Errorf("%q is not an address", socket)
	}
}

func TestHidePasswords(t *testing.T) {
	t.Parallel()
	const full, plain = "postgres://ann:quince@h/db#x", "postgres://ann@h/db#x"
	for _, tt := range []struct {
		args, want []string
		set        bool
	}{
		{[]string{"-p", "hi", "--session", full}, []string{"-p", "hi", "--session", plain}, true},
		{[]string{"--session=" + full}, []string{"--session=" + plain}, true},
		{[]string{"-r", full}, []string{"-r", plain}, true},
		{[]string{"-r" + full}, []string{"-r" + plain}, true},
		{[]string{"--resume=" + full, "--session", full}, []string{"--resume=" + plain, "--session", plain}, true},
		{[]string{"sessions", "show", full}, []string{"sessions", "show", plain}, true},
		{[]string{"-p", "what is " + full, full}, []string{"-p", "what is " + full, full}, false}, // a prompt
		{[]string{"--session", plain, "--session"}, []string{"--session", plain, "--session"}, false},
		{[]string{"config", "set", "x", full}, []string{"config", "set", "x", full}, false},
	} {
		got, set := slices.Clone(tt.args), ""
		err := hidePasswords(got, func(name, value string) error {
			if name != place.PasswordVariable {
				t.Errorf("%s is set", name)
			}
			set = value
			return nil
		})
		if err != nil || (set == "quince") != tt.set || set != "" && !tt.set {
			t.Errorf("%q: %v, the variable is %q", tt.args, err, set)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Error(diff)
		}
	}
	err := hidePasswords([]string{"sessions", "x", full, strings.Replace(full, "quince", "medlar", 1)}, func(string, string) error { return nil })
	if _, wrong := errors.AsType[usageError](err); !wrong || strings.Contains(err.Error(), "quince") || strings.Contains(err.Error(), "medlar") {
		t.Errorf("two passwords: %v", err)
	}
}
