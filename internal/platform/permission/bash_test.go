package permission_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/internal/platform/permission"
)

// driver runs the scripts of its input, each in a shell of its own that finds no
// program, and says which of them came to run the forbidden one.
const driver = `
forbidden() { echo "$i" >&3; }
ls() { :; }
PATH=/nonexistent
i=0
while IFS= read -r -d '' script; do
	( eval "$script" ) </dev/null >/dev/null 2>&1
	i=$((i+1))
done
`

// pieces are what scripts that are hard to read are made of.
var pieces = []string{
	"forbidden", "forbidden", "forbidden", ";", "|", "&&", "||", "&", "\n", "\n", " ", " ", " ", "(", ")", "{ ", "}", "$(", ")", "`", "`", "\"", "\"", "'", "'", "\\", "\\\n", "$'", "$\"",
	"<<EOF\n", "EOF\n", "\nEOF\n", "<<'EOF'\n", "<<\"EOF\"\n", "<<-EOF\n", "<<\\EOF\n", "\t", "<(", "<", "2>&1", ">/dev/null", "#", " #", "# ", "! ", "[[ ", " ]]", "[ ", " ]", "((", "))", "$((",
	"if ", "then ", "fi", "case a in ", "a)", "*)", ";;", "esac", "x=", "$x", "${x", "}", ":-", "%", "##", "/", "ls ", "ls", "echo ", "echo", "pwd", "~", "*", "?", "a", "-", ",", "{a,b}",
	"\\\"", "\\'", "\\`", "\\$", "<<<", "1", "+", "=", "==", "=~", "$", "$#", "${#", "${!", "!", "time ", "E", "OF", "\\\\", "@", "+(", "!(", "$[", "]", "\r", "eval ", "command ",
}

// bash itself agrees with how lines are read: of scripts put together at random,
// none that is allowed runs the forbidden program.
func TestBashAgrees(t *testing.T) {
	pacetest.Costly(t)
	shell, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	var scripts []string
	ask, full := policy(t, permission.Ask), policy(t, permission.Full, rule1(t, "!bash(forbidden:*)"))
	r := rand.New(rand.NewPCG(1, 2))
	openings := []string{"ls ", "echo ", "cat <<EOF\n", "cat <<'EOF'\n", "echo \"", "echo $(", "[[ ", "case a in ", "echo '", "echo `", "x=", "ls <<-EOF\n"}
	rounds := pacetest.Long(20_000, 200_000, 500_000)
	for range rounds {
		var b strings.Builder
		b.WriteString(openings[r.IntN(len(openings))])
		for range 2 + r.IntN(9) {
			b.WriteString(pieces[r.IntN(len(pieces))])
		}
		s := b.String()
		if strings.Contains(s, "forb") && (ask.Decide(bash(s)).Verdict == permission.Allow || full.Decide(bash(s)).Verdict == permission.Allow) {
			scripts = append(scripts, s)
		}
	}
	// These do run it: the driver notices.
	known := []string{"forbidden", "echo \"$(forbidden)\"", "ls # c\\\nforbidden"}
	for _, s := range known {
		if d := full.Decide(bash(s)); d.Verdict == permission.Allow {
			t.Errorf("%q: %s", s, d.Reason)
		}
	}
	ran := runInBash(t, shell, append(known, scripts...))
	for i := range known {
		if !ran[i] {
			t.Errorf("the driver does not see that %q runs it", known[i])
		}
		delete(ran, i)
	}
	for i := range ran {
		t.Errorf("%q is allowed, and bash runs the forbidden program", scripts[i-len(known)])
	}
	if len(scripts) < rounds/250 {
		t.Errorf("only %d scripts were allowed: nothing was tried", len(scripts))
	}
}

func runInBash(t *testing.T, shell string, scripts []string) map[int]bool {
	t.Helper()
	dir := t.TempDir()
	marks, err := os.Create(filepath.Join(dir, "marks"))
	if err != nil {
		t.Fatal(err)
	}
	defer marks.Close()
	cmd := exec.CommandContext(t.Context(), shell, "--norc", "--noprofile", "-c", driver)
	cmd.Dir = t.TempDir()
	cmd.Env = []string{"HOME=" + dir}
	cmd.ExtraFiles = []*os.File{marks}
	cmd.Stdin = strings.NewReader(strings.Join(scripts, "\x00") + "\x00")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	data, err := os.ReadFile(marks.Name())
	if err != nil {
		t.Fatal(err)
	}
	ran := map[int]bool{}
	for line := range strings.Lines(string(data)) {
		var i int
		if _, err := fmt.Sscan(line, &i); err != nil {
			t.Fatal(err)
		}
		ran[i] = true
	}
	return ran
}
