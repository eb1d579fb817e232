package storetest

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/burin-dev/burin/internal/pacetest"
	"github.com/burin-dev/burin/transcript"
)

// childDir is the environment variable that makes the test binary the process that
// is killed.
const childDir = "BURIN_STORETEST_DIR"

// RunKilled lets another process append to a store, sync it and replace its
// records, kills it at random moments, and looks whether all that it had
// acknowledged is there. The process is the test binary with the same test, so the
// test must come here before it does anything else. open opens the session that is
// in dir, which is empty at first.
func RunKilled(t *testing.T, open func(dir string) (transcript.Store, error)) {
	if dir := os.Getenv(childDir); dir != "" {
		if err := write(open, dir); err != nil {
			fmt.Printf("error %v\n", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if testing.Short() {
		t.Skip("starts and kills processes")
	}
	p := parent{t: t, dir: t.TempDir(), acked: -1}
	rng := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 5))
	rounds := pacetest.Long(10, 150, 500)
	for round := range rounds {
		p.kill(rng)
		p.look(open, round+1)
	}
	if p.acked < 2*rounds {
		t.Errorf("only %d records were written: the test proves nothing", p.acked)
	}
}

// numbered is record n; its size is random.
func numbered(n int) []byte {
	rng := rand.New(rand.NewPCG(uint64(n), 6))
	size := 20 + rng.IntN(1<<rng.IntN(18))
	return append(fmt.Appendf(nil, `{"n":%d,`, n), padded(size, uint64(n))[1:]...)
}

// number is n of a record that numbered made.
func number(r []byte) (n int, ok bool) {
	if _, err := fmt.Sscanf(string(r[:min(len(r), 30)]), `{"n":%d,`, &n); err != nil {
		return 0, false
	}
	return n, bytes.Equal(r, numbered(n))
}

// keep is how many records a Replace leaves.
const keep = 20

// write is the process that is killed. It says what it does, a line each:
// "a 7" when all up to record 7 are acknowledged, "r 3" before and "R 3" after the
// records before 3 are dropped.
func write(open func(dir string) (transcript.Store, error), dir string) error {
	store, err := open(dir)
	if err != nil {
		return err
	}
	next := 0
	err = store.Records(func(_ transcript.Ref, r []byte) error {
		if n, ok := number(r); ok {
			next = n + 1
		}
		return nil
	})
	if err != nil {
		return err
	}
	rng := rand.New(rand.NewPCG(uint64(next), 7))
	for range 100_000 { // and then ends, should nobody kill it
		switch k := rng.IntN(40); {
		case k == 0:
			err = store.Sync()
		case k == 1 && next > keep:
			fmt.Printf("r %d\n", next-keep)
			err = store.Replace(func(yield func([]byte) bool) {
				for n := next - keep; n < next && yield(numbered(n)); n++ {
				}
			})
			if err == nil {
				fmt.Printf("R %d\n", next-keep)
			}
		default:
			var records [][]byte
			for range 1 + rng.IntN(3) {
				records = append(records, numbered(next+len(records)))
			}
			if _, err = store.Append(records...); err == nil {
				next += len(records)
				fmt.Printf("a %d\n", next-1)
			}
		}
		if err != nil {
			return err
		}
	}
	return store.Close()
}

type parent struct {
	t        *testing.T
	dir      string
	acked    int // the last record that was acknowledged
	first    int // the first that must be there
	dropping int // the first that may be there, if a Replace was not acknowledged
}

// kill starts the process and kills it after some of its lines.
func (p *parent) kill(rng *rand.Rand) {
	p.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		p.t.Fatal(err)
	}
	pattern := "^" + strings.ReplaceAll(p.t.Name(), "/", "$/^") + "$"
	cmd := exec.Command(exe, "-test.run="+pattern, "-test.count=1")
	cmd.Env = append(os.Environ(), childDir+"="+p.dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		p.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	after, moment := 1+rng.IntN(60), time.Duration(rng.IntN(3_000))*time.Microsecond
	lines := bufio.NewReader(out)
	for i := 0; ; i++ {
		line, err := lines.ReadString('\n')
		if err == io.EOF {
			break // a line without its end was not said
		} else if err != nil {
			p.t.Fatal(err)
		}
		if i == after {
			kill := time.AfterFunc(moment, func() { _ = cmd.Process.Kill() })
			defer kill.Stop()
		}
		p.heard(strings.TrimSuffix(line, "\n"))
	}
	if err := cmd.Wait(); err == nil {
		p.t.Fatal("the process ended before it was killed")
	}
}

func (p *parent) heard(line string) {
	p.t.Helper()
	var n int
	switch {
	case scan(line, "a %d", &n):
		p.acked = n
	case scan(line, "r %d", &n):
		p.dropping = n
	case scan(line, "R %d", &n):
		p.first, p.dropping = n, n
	default:
		p.t.Fatalf("the process said %q", line)
	}
}

func scan(line, format string, n *int) bool {
	_, err := fmt.Sscanf(line, format, n)
	return err == nil
}

// look opens the session in this process.
func (p *parent) look(open func(dir string) (transcript.Store, error), kills int) {
	p.t.Helper()
	store, err := open(p.dir)
	if err != nil {
		p.t.Fatalf("open after %d kills: %v", kills, err)
	}
	var numbers []int
	torn := 0
	err = store.Records(func(_ transcript.Ref, r []byte) error {
		if n, ok := number(r); ok {
			numbers = append(numbers, n)
		} else {
			torn++
		}
		return nil
	})
	if err != nil {
		p.t.Fatal(err)
	}
	if torn > kills {
		p.t.Errorf("%d records are torn after %d kills", torn, kills)
	}
	for i := 1; i < len(numbers); i++ {
		if numbers[i] != numbers[i-1]+1 {
			p.t.Fatalf("record %d follows record %d", numbers[i], numbers[i-1])
		}
	}
	switch {
	case p.acked < 0:
	case len(numbers) == 0 || numbers[len(numbers)-1] < p.acked:
		p.t.Fatalf("record %d was acknowledged; there are %v", p.acked, numbers)
	case numbers[0] != p.first && numbers[0] != p.dropping:
		p.t.Fatalf("the records begin with %d, want %d, or %d if the last Replace happened", numbers[0], p.first, p.dropping)
	default:
		p.first = numbers[0]
		p.dropping = p.first
	}
	if err := store.Close(); err != nil {
		p.t.Fatal(err)
	}
}
