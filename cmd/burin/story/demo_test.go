package story_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/burin-dev/burin/internal/mode/tui/robot"
	"github.com/burin-dev/burin/internal/pacetest"
)

// The demo needs neither key nor network, and asks what every session asks.
func TestDemo(t *testing.T) {
	pacetest.Costly(t)
	t.Parallel()
	home := t.TempDir()
	cache, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	r := robot.Start(t, robot.Options{
		Width: 100, Height: 30, Dir: home, Timeout: 3 * waitTime, // programs are built in it
		Env: []string{"BURIN_HOME=" + filepath.Join(home, ".burin"), "BURIN_NO_KEYRING=1", "GOCACHE=" + strings.TrimSpace(string(cache))},
	}, os.Getenv(programVariable), "demo", "--terminal")
	s := &story{Robot: r, t: t}
	r.WaitText("Run this command?")
	s.answer("y")
	r.WaitText("Change this file?")
	s.answer("y")
	r.WaitText("Run this command?")
	s.answer("y")
	r.WaitText("I am a script, not a model")
	r.WaitGone("Working")
	r.Press("ctrl+d")
	if code := r.WaitEnd(); code != 0 {
		t.Errorf("burin ended with %d", code)
	}
}
