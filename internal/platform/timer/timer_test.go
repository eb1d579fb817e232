package timer

import (
	"encoding/xml"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// machine is a home folder, and programs of the system that note down how they are called.
type machine struct {
	t    *testing.T
	home string
	log  string
}

func newMachine(t *testing.T, programs map[string]string) *machine {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the programs are shell scripts")
	}
	dir := t.TempDir()
	m := &machine{t: t, home: filepath.Join(dir, "home"), log: filepath.Join(dir, "log")}
	for name, body := range programs {
		path := filepath.Join(dir, "bin", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho \""+name+" $*\" >> '"+m.log+"'\ndir='"+dir+"'\n"+body), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", filepath.Join(dir, "bin")+":/usr/bin:/bin")
	t.Setenv("TMPDIR", t.TempDir()) // else the programs are in a folder that commands may write
	return m
}

func (m *machine) getenv(name string) string { return map[string]string{"HOME": m.home}[name] }

func (m *machine) calls() []string {
	m.t.Helper()
	b, err := os.ReadFile(m.log)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	return strings.Split(strings.TrimSpace(string(b)), "\n")
}

// files are those of the home folder.
func (m *machine) files() map[string]string {
	m.t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(m.home, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(path)
		rel, _ := filepath.Rel(m.home, path)
		all[rel] = string(b)
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		m.t.Fatal(err)
	}
	return all
}

// awkward is a program and a variable with what each mechanism reads in a way of its own.
func awkward(t *testing.T, when string) Job {
	t.Helper()
	w, err := Parse(when)
	if err != nil {
		t.Fatal(err)
	}
	return Job{ID: "1f9d", When: w, Command: []string{`/opt/it's 100% "b\in"/burin`, "schedule", "run", "1f9d"}, Env: []string{`BURIN_HOME=/home/a b/50%d $HOME <&>'"\`}}
}

func TestSystemd(t *testing.T) {
	m := newMachine(t, map[string]string{"systemctl": ""})
	if k, err := Find(t.Context()); k != Systemd || err != nil {
		t.Errorf("%s, %v", k, err)
	}
	if err := Add(t.Context(), Systemd, m.getenv, awkward(t, "0 9 1,15 * 1-5")); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		".config/systemd/user/burin-1f9d.service": `# Written by burin schedule add; burin schedule remove 1f9d removes it.
[Unit]
Description=burin schedule 1f9d

[Service]
Type=oneshot
Environment="BURIN_HOME=/home/a b/50%%d $HOME <&>'\"\\"
ExecStart="/opt/it's 100%% \"b\\in\"/burin" "schedule" "run" "1f9d"
`,
		".config/systemd/user/burin-1f9d.timer": `# Written by burin schedule add; burin schedule remove 1f9d removes it.
[Unit]
Description=burin schedule 1f9d

[Timer]
OnCalendar=*-*-01,15 09:00:00
OnCalendar=Mon,Tue,Wed,Thu,Fri *-*-* 09:00:00
Persistent=true

[Install]
WantedBy=timers.target
`,
	}
	if diff := cmp.Diff(want, m.files()); diff != "" {
		t.Error(diff)
	}
	stamp := filepath.Join(m.home, ".local/share/systemd/timers/stamp-burin-1f9d.timer")
	other := filepath.Join(m.home, ".config/systemd/user/burin-2.timer")
	for _, f := range []string{stamp, other} {
		if err := write(f, ""); err != nil {
			t.Fatal(err)
		}
	}
	for range 2 { // what is gone is no error
		if err := Remove(t.Context(), Systemd, m.getenv, "1f9d"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(map[string]string{".config/systemd/user/burin-2.timer": ""}, m.files()); diff != "" {
		t.Error(diff)
	}
	remove := []string{"systemctl --user disable --now burin-1f9d.timer", "systemctl --user daemon-reload"}
	if diff := cmp.Diff(slices.Concat([]string{"systemctl --user show --property=Version", "systemctl --user daemon-reload", "systemctl --user enable --now burin-1f9d.timer"}, remove, remove), m.calls()); diff != "" {
		t.Error(diff)
	}
}

// systemd finds nothing wrong with the units, and reads the program and the variable as they are.
func TestSystemdReadsUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		t.Skip("systemd-analyze is not installed")
	}
	j := awkward(t, "0 9 1,15 * 1-5")
	dir := t.TempDir()
	// It takes no quotes and no backslash in the path of a program, and says so.
	j.Command[0] = filepath.Join(dir, "100% a $b in", "burin")
	if err := write(j.Command[0], ""); err != nil {
		t.Fatal(err)
	}
	service, timer := filepath.Join(dir, "burin-1f9d.service"), filepath.Join(dir, "burin-1f9d.timer")
	if err := errors.Join(os.Chmod(j.Command[0], 0o700), write(service, serviceUnit(j)), write(timer, timerUnit(j))); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(analyze, "--user", "verify", service, timer)
	cmd.Env = append(cmd.Environ(), "XDG_RUNTIME_DIR="+t.TempDir(), "HOME="+dir)
	if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
		t.Errorf("%v: %s", err, out)
	}
	// It does find a program that isn't there.
	if err := os.Remove(j.Command[0]); err != nil {
		t.Fatal(err)
	}
	cmd = exec.Command(analyze, "--user", "verify", service)
	cmd.Env = append(cmd.Environ(), "XDG_RUNTIME_DIR="+t.TempDir(), "HOME="+dir, "LC_ALL=C")
	if out, _ := cmd.CombinedOutput(); !strings.Contains(string(out), "100% a $b in/burin") {
		t.Errorf("another program: %s", out)
	}
}

// If systemd refuses a timer, nothing of it stays, and the error says why.
func TestSystemdRefuses(t *testing.T) {
	m := newMachine(t, map[string]string{"systemctl": `case "$2" in enable) echo "Unit is bad." >&2; exit 1;; esac`})
	err := Add(t.Context(), Systemd, m.getenv, awkward(t, "daily 9:00"))
	if err == nil || err.Error() != "add a timer of systemd: systemctl --user: Unit is bad." {
		t.Errorf("%v", err)
	}
	if files := m.files(); len(files) > 0 {
		t.Errorf("%v", files)
	}
}

func TestLaunchd(t *testing.T) {
	m := newMachine(t, map[string]string{"launchctl": "", "systemctl": "exit 1"})
	if k, err := Find(t.Context()); k != Launchd || err != nil {
		t.Errorf("%s, %v", k, err)
	}
	j := awkward(t, "0,30 9 * * mon,fri")
	if err := Add(t.Context(), Launchd, m.getenv, j); err != nil {
		t.Fatal(err)
	}
	const file = "Library/LaunchAgents/dev.burin.1f9d.plist"
	if diff := cmp.Diff(map[string]string{file: `<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<!-- Written by burin schedule add; burin schedule remove 1f9d removes it. -->
<plist version="1.0">
<dict>
	<key>Label</key>
	<string>dev.burin.1f9d</string>
	<key>ProgramArguments</key>
	<array>
		<string>/opt/it&#39;s 100% &#34;b\in&#34;/burin</string>
		<string>schedule</string>
		<string>run</string>
		<string>1f9d</string>
	</array>
	<key>EnvironmentVariables</key>
	<dict>
		<key>BURIN_HOME</key>
		<string>/home/a b/50%d $HOME &lt;&amp;&gt;&#39;&#34;\</string>
	</dict>
	<key>StartCalendarInterval</key>
	<array>
		<dict><key>Weekday</key><integer>1</integer><key>Hour</key><integer>9</integer><key>Minute</key><integer>0</integer></dict>
		<dict><key>Weekday</key><integer>1</integer><key>Hour</key><integer>9</integer><key>Minute</key><integer>30</integer></dict>
		<dict><key>Weekday</key><integer>5</integer><key>Hour</key><integer>9</integer><key>Minute</key><integer>0</integer></dict>
		<dict><key>Weekday</key><integer>5</integer><key>Hour</key><integer>9</integer><key>Minute</key><integer>30</integer></dict>
	</array>
</dict>
</plist>
`}, m.files()); diff != "" {
		t.Error(diff)
	}
	var texts []string
	for d := xml.NewDecoder(strings.NewReader(m.files()[file])); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if c, ok := token.(xml.CharData); ok {
			texts = append(texts, string(c))
		}
	}
	for _, want := range []string{j.Command[0], strings.TrimPrefix(j.Env[0], "BURIN_HOME=")} {
		if !slices.Contains(texts, want) {
			t.Errorf("no %q in %q", want, texts)
		}
	}
	if err := Remove(t.Context(), Launchd, m.getenv, "1f9d"); err != nil {
		t.Fatal(err)
	}
	if files := m.files(); len(files) > 0 {
		t.Errorf("%v", files)
	}
	calls := m.calls()[1:]
	if diff := cmp.Diff([]string{"launchctl bootstrap " + domain() + " " + filepath.Join(m.home, file), "launchctl bootout " + domain() + "/dev.burin.1f9d"}, calls); diff != "" {
		t.Error(diff)
	}
}

func TestIntervals(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{"every hour": 1, "every 2h": 12, "*/5 * * * *": 12, "0,30 9-17 * * 1-5": 90, "0 9 1,15 * 1": 3, "0 9 */2 * 1": -1, "*/2 1-23 1-20 * *": -1} {
		w, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		all, err := w.intervals()
		if len(all) != max(want, 0) || (err != nil) != (want < 0) {
			t.Errorf("%s: %d entries, want %d: %v", text, len(all), want, err)
		}
	}
}

// table is a crontab that keeps the table in a file.
const table = `case "$1" in
-l) if [ -e "$dir/denied" ]; then echo "you may not use crontab" >&2; exit 1; fi
    cat "$dir/table" 2> /dev/null || { echo "no crontab for me" >&2; exit 1; } ;;
-r) rm "$dir/table" ;;
-) cat > "$dir/table.new" && mv "$dir/table.new" "$dir/table" ;;
esac`

func TestCron(t *testing.T) {
	m := newMachine(t, map[string]string{"crontab": table, "systemctl": "exit 1"})
	file := filepath.Join(filepath.Dir(m.log), "table")
	if k, err := Find(t.Context()); k != Cron || err != nil {
		t.Errorf("%s, %v", k, err)
	}
	j := awkward(t, "every weekday 9:00")
	const line = `0 9 * * 1-5 /usr/bin/env 'BURIN_HOME=/home/a b/50'\%'d $HOME <&>'\''"\' '/opt/it'\''s 100'\%' "b\in"/burin' schedule run 1f9d # burin-1f9d` + "\n"
	for _, before := range []string{"", "MAILTO=me\n0 1 * * * true # burin-1f9d too\n# burin-1f9\n", "0 1 * * * true"} {
		if err := os.WriteFile(file, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		if before == "" {
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
		}
		if err := Add(t.Context(), Cron, m.getenv, j); err != nil {
			t.Fatal(err)
		}
		if before != "" && !strings.HasSuffix(before, "\n") {
			before += "\n"
		}
		if got, err := os.ReadFile(file); string(got) != before+line || err != nil {
			t.Errorf("%v: %s", err, got)
		}
		for range 2 {
			if err := Remove(t.Context(), Cron, m.getenv, "1f9d"); err != nil {
				t.Fatal(err)
			}
		}
		got, err := os.ReadFile(file)
		if string(got) != before || errors.Is(err, fs.ErrNotExist) != (before == "") {
			t.Errorf("%v: %s, want %s", err, got, before)
		}
	}
}

// A table that can't be read isn't replaced by one with burin's line only.
func TestCronKeepsWhatItCannotRead(t *testing.T) {
	m := newMachine(t, map[string]string{"crontab": table})
	dir := filepath.Dir(m.log)
	for _, name := range []string{"table", "denied"} {
		if err := write(filepath.Join(dir, name), "0 1 * * * true\n"); err != nil {
			t.Fatal(err)
		}
	}
	err := Add(t.Context(), Cron, m.getenv, awkward(t, "daily 9:00"))
	if err == nil || err.Error() != "add a timer of cron: crontab -l: you may not use crontab" {
		t.Errorf("%v", err)
	}
	if got, _ := os.ReadFile(filepath.Join(dir, "table")); string(got) != "0 1 * * * true\n" {
		t.Errorf("%s", got)
	}
	if slices.ContainsFunc(m.calls(), func(c string) bool { return c != "crontab -l" }) {
		t.Errorf("%q", m.calls())
	}
}

// The shell reads a line of the crontab as it was meant, after a cron that takes the backslash
// away, and after one that leaves it.
func TestCronLineRuns(t *testing.T) {
	newMachine(t, nil) // not on Windows
	dir := t.TempDir()
	j := awkward(t, "every weekday 9:00")
	j.Command[0] = filepath.Join(dir, j.Command[0])
	if err := write(j.Command[0], "#!/bin/sh\nprintf '%s|' \"$BURIN_HOME\" \"$@\"\n"); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(j.Command[0], 0o700); err != nil {
		t.Fatal(err)
	}
	command := strings.Join(strings.SplitN(cronLine(j), " ", 6)[5:], "")
	for name, line := range map[string]string{"vixie": strings.ReplaceAll(command, `\%`, "%"), "busybox": command} {
		out, err := exec.Command("/bin/sh", "-c", line).CombinedOutput()
		if want := strings.TrimPrefix(j.Env[0], "BURIN_HOME=") + "|schedule|run|1f9d|"; string(out) != want || err != nil {
			t.Errorf("%s: %v: %s, want %s", name, err, out, want)
		}
	}
}

func TestAddRefuses(t *testing.T) {
	m := newMachine(t, map[string]string{"crontab": table})
	for want, change := range map[string]func(*Job){
		"an id has small letters": func(j *Job) { j.ID = "../x" },
		"absolute path":           func(j *Job) { j.Command[0] = "burin" },
		"control character":       func(j *Job) { j.Command = append(j.Command, "a\nb") },
		"not NAME=value":          func(j *Job) { j.Env = []string{"-i"} },
		"998 bytes":               func(j *Job) { j.Command[0] += strings.Repeat("x", 1000) },
	} {
		j := awkward(t, "daily 9:00")
		change(&j)
		if err := Add(t.Context(), Cron, m.getenv, j); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if err := Remove(t.Context(), Cron, m.getenv, ".*"); err == nil {
		t.Error("an id that is a pattern is taken")
	}
	if err := Add(t.Context(), Launchd, m.getenv, awkward(t, "daily 9:00")); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("%v", err)
	}
}
