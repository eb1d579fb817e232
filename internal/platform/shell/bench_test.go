package shell_test

import (
	"context"
	"testing"

	"github.com/burin-dev/burin/internal/platform/shell"
)

func benchmarkRun(b *testing.B, s *shell.Shells, c shell.Command) {
	b.Helper()
	if _, err := s.Run(context.Background(), c, nil); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		o, err := s.Run(context.Background(), c, nil)
		if err != nil || o.ExitCode != 0 {
			b.Fatal(o, err)
		}
	}
}

// What burin adds to a command of the persistent shell, which forks nothing here.
func BenchmarkTrue(b *testing.B) {
	benchmarkRun(b, open(b, shell.Options{}), shell.Command{Line: "true"})
}

func BenchmarkEcho(b *testing.B) {
	benchmarkRun(b, open(b, shell.Options{}), shell.Command{Line: "echo hello"})
}

// The same with a program, a folder and a variable.
func BenchmarkProgram(b *testing.B) {
	benchmarkRun(b, open(b, shell.Options{}), shell.Command{Line: "/bin/true", Dir: "/", Env: map[string]string{"A": "b"}})
}

// A command that is as long as they get.
func BenchmarkLongLine(b *testing.B) {
	line := make([]byte, shell.MaxLine)
	for i := range line {
		line[i] = 'x'
	}
	copy(line, "true <<E\n")
	copy(line[len(line)-3:], "\nE\n")
	benchmarkRun(b, open(b, shell.Options{}), shell.Command{Line: string(line)})
}

// A shell of its own, as for a command while the shell is busy.
func BenchmarkApart(b *testing.B) {
	s := open(b, shell.Options{})
	j, err := s.Start(shell.Command{Line: "sleep 1000"})
	if err != nil {
		b.Fatal(err)
	}
	defer j.Kill()
	b.ReportAllocs()
	for b.Loop() {
		j, err := s.Start(shell.Command{Line: "true"})
		if err != nil {
			b.Fatal(err)
		}
		<-j.Done()
	}
}

// Output through the window and to a watcher.
func BenchmarkOutput(b *testing.B) {
	for name, watch := range map[string]func(string){"unwatched": nil, "watched": func(string) {}} {
		b.Run(name, func(b *testing.B) {
			s := open(b, shell.Options{})
			const size = 50 << 20
			b.SetBytes(size)
			b.ReportAllocs()
			for b.Loop() {
				o, err := s.Run(context.Background(), shell.Command{Line: "yes | head -c 52428800"}, watch)
				if err != nil || o.Output.Bytes != size {
					b.Fatal(o, err)
				}
			}
		})
	}
}
