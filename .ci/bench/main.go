// Command bench compares benchmark results on standard input with a committed
// baseline and fails when one got worse than its tolerance.
//
// Counts (B/op, allocs/op, and whatever a benchmark reports in units that begin
// with B/ or allocs/) are the same on every machine: 15 % and two units are
// allowed. Times are not: each is divided by that of the calibration benchmark
// of the same run, a fixed piece of work, before it is compared, and may be up
// to 2.5 times the baseline's. A benchmark with an absolute ceiling ("max" in
// the baseline) must stay below it, whatever the baseline says.
//
// Of a benchmark that ran several times (-count) the best figures count.
//
//	go test -run '^$' -bench . -count 3 -benchmem ./... | go run ./.ci/bench -baseline FILE [-write]
package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	calibration   = "llm/wire.BenchmarkCalibration"
	timeTolerance = 2.5
	countFactor   = 1.15
	countSlack    = 2
)

// results maps "package.Benchmark" to unit to value.
type results map[string]map[string]float64

func main() {
	baseline := flag.String("baseline", ".ci/bench/baseline.txt", "the committed figures")
	write := flag.Bool("write", false, "write the figures of this run as the new baseline")
	flag.Parse()
	now, err := parse(io.TeeReader(os.Stdin, os.Stdout))
	if err != nil {
		exit(err)
	}
	if *write {
		if err := save(*baseline, now); err != nil {
			exit(err)
		}
		return
	}
	f, err := os.Open(*baseline)
	if err != nil {
		exit(err)
	}
	defer f.Close()
	old, err := load(f)
	if err != nil {
		exit(err)
	}
	bad := compare(old, now)
	for _, b := range bad {
		fmt.Println("WORSE", b)
	}
	if len(bad) > 0 {
		exit(fmt.Errorf("%d figures are worse than the baseline; if that is meant, run with -write and say why in the commit", len(bad)))
	}
	fmt.Printf("%d benchmarks within tolerance\n", len(now))
}

func exit(err error) {
	fmt.Fprintln(os.Stderr, "bench:", err)
	os.Exit(1)
}

var procs = regexp.MustCompile(`-\d+$`)

// parse reads the output of go test -bench.
func parse(r io.Reader) (results, error) {
	out := results{}
	pkg := ""
	for lines := bufio.NewScanner(r); lines.Scan(); {
		f := strings.Fields(lines.Text())
		switch {
		case len(f) == 2 && f[0] == "pkg:":
			pkg = strings.TrimPrefix(f[1], "github.com/burin-dev/burin/")
		case len(f) > 3 && strings.HasPrefix(f[0], "Benchmark"):
			units := map[string]float64{}
			for i := 2; i+1 < len(f); i += 2 {
				v, err := strconv.ParseFloat(f[i], 64)
				if err != nil {
					return nil, fmt.Errorf("not a benchmark result: %q", lines.Text())
				}
				units[f[i+1]] = v
			}
			name := pkg + "." + procs.ReplaceAllString(f[0], "")
			// Of several runs the best counts: noise only ever adds.
			for unit, v := range out[name] {
				units[unit] = min(v, units[unit])
			}
			out[name] = units
		case len(f) > 0 && (f[0] == "FAIL" || f[0] == "panic:"):
			return nil, fmt.Errorf("a benchmark failed: %s", lines.Text())
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("no benchmark result on standard input")
	}
	return out, nil
}

// load reads a baseline: lines of name, unit, value and perhaps "max" and the
// ceiling.
func load(r io.Reader) (results, error) {
	out := results{}
	for lines := bufio.NewScanner(r); lines.Scan(); {
		f := strings.Fields(lines.Text())
		if len(f) == 0 || f[0] == "#" {
			continue
		}
		if len(f) != 3 && (len(f) != 5 || f[3] != "max") {
			return nil, fmt.Errorf("baseline: not a figure: %q", lines.Text())
		}
		if out[f[0]] == nil {
			out[f[0]] = map[string]float64{}
		}
		for i, key := range []string{f[1], "max " + f[1]} {
			if at := 2 + 2*i; at < len(f) {
				v, err := strconv.ParseFloat(f[at], 64)
				if err != nil {
					return nil, fmt.Errorf("baseline: not a number: %q", lines.Text())
				}
				out[f[0]][key] = v
			}
		}
	}
	return out, nil
}

// ceiling is the figure that the project promises for a benchmark.
func ceiling(name, unit string) (float64, bool) {
	for _, c := range []struct {
		name, unit string // the name begins so
		most       float64
	}{
		{"", "ns/event", 3000},
		{"", "B/event", 200},
		{"transcript.BenchmarkAppend", "ns/op", 200e3},
		{"transcript.BenchmarkOpen", "ns/op", 300e6},
		{"transcript.BenchmarkOpen", "B/op", 100e6},
		{"transcript.BenchmarkContext", "ns/op", 1e9}, // 100,000 messages behind the first paint
		{"transcript/index.BenchmarkList1000", "ns/op", 100e6},
		{"transcript/index.BenchmarkSearch1000/", "ns/op", 50e6},
	} {
		if strings.HasPrefix(name, c.name) && unit == c.unit {
			return c.most, true
		}
	}
	return 0, false
}

func save(path string, now results) error {
	var b strings.Builder
	b.WriteString("# Benchmark figures; written by .ci/bench -write. Times count relative to " + calibration + ".\n")
	names := make([]string, 0, len(now))
	for name := range now {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		units := make([]string, 0, 4)
		for unit := range now[name] {
			if isTime(unit) || isCount(unit) {
				units = append(units, unit)
			}
		}
		slices.Sort(units)
		for _, unit := range units {
			fmt.Fprintf(&b, "%s %s %g", name, unit, now[name][unit])
			if max, ok := ceiling(name, unit); ok {
				fmt.Fprintf(&b, " max %g", max)
			}
			b.WriteByte('\n')
		}
	}
	return os.WriteFile(path, []byte(b.String()), 0o644)
}

func isTime(unit string) bool { return strings.HasPrefix(unit, "ns/") }
func isCount(unit string) bool {
	return strings.HasPrefix(unit, "B/") || strings.HasPrefix(unit, "allocs/")
}

// compare lists what got worse, and what the baseline holds and the run does not.
func compare(old, now results) (bad []string) {
	scale := 1.0
	if a, b := old[calibration]["ns/op"], now[calibration]["ns/op"]; a > 0 && b > 0 {
		scale = b / a
		fmt.Printf("this machine takes %.2f times as long as the baseline's for the same work\n", scale)
	}
	for name, units := range old {
		if now[name] == nil {
			bad = append(bad, name+" is in the baseline but did not run")
			continue
		}
		for unit, was := range units {
			is, ok := now[name][unit]
			if !ok {
				continue
			}
			limit := was*countFactor + countSlack
			if isTime(unit) {
				limit = was * scale * timeTolerance
			}
			if max, ok := units["max "+unit]; ok {
				if isTime(unit) {
					max *= scale
				}
				limit = min(limit, max)
			}
			if is > limit {
				bad = append(bad, fmt.Sprintf("%s: %g %s, was %g, allowed %g", name, is, unit, was, limit))
			}
		}
	}
	slices.Sort(bad)
	return bad
}
