package skill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/customize/source"
)

// write makes files below dir.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func link(t testing.TB, to, from string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(from), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(to, from); err != nil {
		t.Skip("no symbolic links here: ", err)
	}
}

// head is a SKILL.md.
func head(name, description string) string {
	return "---\nname: " + name + "\ndescription: " + description + "\n---\n\nDo " + name + ".\n"
}

// setup are the options for a home and a repository below dir, without what is bundled.
func setup(dir string) Options {
	return Options{NoBundled: true, Options: source.Options{
		Dir: filepath.Join(dir, "repo", "sub"), Root: filepath.Join(dir, "repo"),
		ConfigDir: filepath.Join(dir, "home", ".burin"), UserHome: filepath.Join(dir, "home"),
	}}
}

// facts are what a test compares of skills.
func facts(list []Skill, dir string) []string {
	var out []string
	rel := func(p string) string {
		r, err := filepath.Rel(dir, p)
		if err != nil {
			return p
		}
		return filepath.ToSlash(r)
	}
	for _, k := range list {
		s := fmt.Sprintf("%s | %s | %s | %s", k.Name, k.Source, k.Description, rel(k.Path))
		if k.ShadowedBy != "" {
			s += " < " + rel(k.ShadowedBy)
		}
		out = append(out, s)
	}
	return out
}

func plain(lines []string, dir string) []string {
	for i, l := range lines {
		lines[i] = filepath.ToSlash(strings.ReplaceAll(l, dir+string(filepath.Separator), ""))
	}
	return lines
}

func TestDiscover(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"repo/.burin/skills/pdf/SKILL.md":            head("pdf", "Handles PDFs: fills, merges"),
		"repo/sub/.claude/skills/near/SKILL.md":      head("near", "Near."),
		"repo/.claude/skills/pdf/SKILL.md":           head("pdf", "Claude's."),
		"repo/.claude/skills/README.md":              "No skill.",
		"repo/.claude/skills/notes/readme.md":        "No skill either.",
		"repo/.claude/skills/.hidden/SKILL.md":       head("hidden", "No."),
		"repo/.claude/skills/group/deep/SKILL.md":    head("deep", "Too deep for a program's folder."),
		"home/.burin/skills/pdf/SKILL.md":            head("pdf", "Mine."),
		"home/.agents/skills/shared/SKILL.md":        head("shared", "Shared."),
		"home/.config/opencode/skills/oc/SKILL.md":   head("oc", "Opencode's."),
		"home/.codex/skills/cx/SKILL.md":             "---\nname: cx\ndescription: |\n  First line.\n  - a point\nmetadata:\n  short-description: x\n---\nText.",
		"home/extra/group/deep/SKILL.md":             head("deep", "Deep."),
		"home/extra/group/deep/inner/SKILL.md":       head("inner", "Part of deep."),
		"home/extra/node_modules/package/SKILL.md":   head("package", "No."),
		"repo/.clinerules/skills/cl/SKILL.md":        "---\nname: cl\ndescription: 'Cline''s'\ndisable-model-invocation: true\n---\nText.",
		"repo/.github/skills/only-model/SKILL.md":    "---\nname: only-model\ndescription: Copilot's.\nuser-invocable: false\n---\nText.",
		"repo/.gemini/skills/gem/SKILL.md":           head("gem", "Gemini's."),
		"repo/.windsurf/skills/wind/SKILL.md":        head("wind", "Windsurf's."),
		"home/.cursor/skills/cur/SKILL.md":           head("cur", "Cursor's."),
		"elsewhere/.burin/skills/other/SKILL.md":     head("other", "Not of this repository."),
		"home/.pi/agent/skills/pi-skill/SKILL.md":    head("pi-skill", "Pi's."),
		"home/.copilot/skills/co/SKILL.md":           head("co", "Copilot's."),
		"repo/.opencode/skill/singular/SKILL.md":     head("singular", "Old."),
		"home/.claude/skills/ignored-one/SKILL.md":   head("ignored-one", "No."),
		"home/.claude/skills/ignored-two-b/SKILL.md": head("ignored-two-b", "No."),
	})
	// What one program installed for several is one skill.
	link(t, "../../.agents/skills/shared", filepath.Join(dir, "home/.claude/skills/shared"))
	o := setup(dir)
	o.Folders = []string{filepath.Join(dir, "home", "extra")}
	o.Ignored = []string{"ignored-*"}
	set := Discover(o)
	if len(set.Warnings()) > 0 {
		t.Errorf("warnings: %q", set.Warnings())
	}
	want := []string{
		"cl | Cline, project | Cline's | repo/.clinerules/skills/cl/SKILL.md",
		"co | Copilot, user | Copilot's. | home/.copilot/skills/co/SKILL.md",
		"cur | Cursor, user | Cursor's. | home/.cursor/skills/cur/SKILL.md",
		"cx | Codex, user | First line. a point | home/.codex/skills/cx/SKILL.md",
		"deep | custom folder, user | Deep. | home/extra/group/deep/SKILL.md",
		"gem | Gemini, project | Gemini's. | repo/.gemini/skills/gem/SKILL.md",
		"near | Claude Code, project | Near. | repo/sub/.claude/skills/near/SKILL.md",
		"oc | opencode, user | Opencode's. | home/.config/opencode/skills/oc/SKILL.md",
		"only-model | Copilot, project | Copilot's. | repo/.github/skills/only-model/SKILL.md",
		"pdf | burin, project | Handles PDFs: fills, merges | repo/.burin/skills/pdf/SKILL.md",
		"pi-skill | pi, user | Pi's. | home/.pi/agent/skills/pi-skill/SKILL.md",
		"shared | Claude Code, user | Shared. | home/.claude/skills/shared/SKILL.md",
		"singular | opencode, project | Old. | repo/.opencode/skill/singular/SKILL.md",
		"wind | Windsurf, project | Windsurf's. | repo/.windsurf/skills/wind/SKILL.md",
	}
	if diff := cmp.Diff(want, facts(set.List(), dir)); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	want = []string{
		"pdf | burin, user | Mine. | home/.burin/skills/pdf/SKILL.md < repo/.burin/skills/pdf/SKILL.md",
		"pdf | Claude Code, project | Claude's. | repo/.claude/skills/pdf/SKILL.md < repo/.burin/skills/pdf/SKILL.md",
	}
	if diff := cmp.Diff(want, facts(set.Shadowed(), dir)); diff != "" {
		t.Errorf("shadowed (-want +got):\n%s", diff)
	}
	section := set.Section()
	if strings.Contains(section, "- cl:") || !strings.Contains(section, "- only-model: Copilot's.\n- pdf: Handles PDFs: fills, merges\n") {
		t.Errorf("section:\n%s", section)
	}
	if again := Discover(o).Section(); again != section {
		t.Errorf("the section changed from\n%s\nto\n%s", section, again)
	}
	for _, k := range set.Callable() {
		if k.Name == "only-model" {
			t.Error("a skill for the model only can be called")
		}
	}
	o.Included, o.Off = []string{"p*", "g?m"}, []string{"pi"}
	o.Ignored = []string{"["}
	set = Discover(o)
	if got := facts(set.List(), dir); len(got) != 2 || !strings.HasPrefix(got[0], "gem") || !strings.HasPrefix(got[1], "pdf") {
		t.Errorf("included: %q", got)
	}
	if w := set.Warnings(); len(w) != 1 || !strings.Contains(w[0], "skills.ignoredSkills") {
		t.Errorf("warnings: %q", w)
	}
}

// What breaks the format is named with its line, and used where it can be; what cannot be
// used, or would let a repository show other files, is left out.
func TestFaults(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"home/.burin/skills/no-head/SKILL.md":    "# How to\n\nDo it.",
		"home/.burin/skills/no-name/SKILL.md":    "---\ndescription: Text.\n---\nx",
		"home/.burin/skills/Other/SKILL.md":      "---\n# a comment\nname: other_name\ndescription: Text.\n---\nx",
		"home/.burin/skills/two words/SKILL.md":  "---\nname: fine\ndescription: Text.\n---\nx",
		"home/.burin/skills/no good/SKILL.md":    "---\nname: ../../etc\ndescription: Text.\n---\nx",
		"home/.burin/skills/bad-name/SKILL.md":   "---\nname: a b\ndescription: Text.\n---\nx",
		"home/.burin/skills/empty/SKILL.md":      "---\nname: empty\n---\n\n",
		"home/.burin/skills/long/SKILL.md":       "---\nname: long\ncompatibility: " + strings.Repeat("x", 501) + "\ndescription: " + strings.Repeat("y", 1025) + "\n---\nx",
		"home/.burin/skills/large/SKILL.md":      head("large", "Large.") + strings.Repeat("x", MaxFile),
		"home/.burin/skills/binary/SKILL.md":     "a\x00b",
		"home/.burin/skills/marks/SKILL.md":      "---\nname: marks\ndescription: Safe\u202e txet \x1b[31mred\n---\nx",
		"home/.burin/skills/folder/SKILL.md/x":   "A folder of that name.",
		"repo/.claude/skills/good/SKILL.md":      head("good", "Good."),
		"repo/config/SKILL.md":                   head("config", "A trap."),
		"repo/config/.env":                       "secret",
		"outside/skills/evil/SKILL.md":           head("evil", "Outside."),
		"repo/.claude/skills/inner/data/x":       "x",
		"repo/.agents/skills/linked/SKILL.md":    head("linked", "Linked."),
		"home/mine/skill-of-mine/SKILL.md":       head("mine", "Mine."),
		"outside/other/skills/whole/SKILL.md":    head("whole", "Outside."),
		"repo/.claude/skills/out-file/other.md":  "x",
		"home/.claude/skills/user-out/readme.md": "x",
	})
	repo := filepath.Join(dir, "repo")
	link(t, "../../config", filepath.Join(repo, ".claude/skills/config"))
	link(t, filepath.Join(dir, "outside/skills/evil"), filepath.Join(repo, ".claude/skills/evil"))
	link(t, "../../.agents/skills/linked", filepath.Join(repo, ".claude/skills/linked"))
	link(t, filepath.Join(dir, "outside/skills/evil/SKILL.md"), filepath.Join(repo, ".claude/skills/out-file/SKILL.md"))
	link(t, filepath.Join(dir, "outside/other/skills"), filepath.Join(repo, ".gemini/skills"))
	link(t, filepath.Join(dir, "home/mine/skill-of-mine"), filepath.Join(dir, "home/.claude/skills/mine"))
	link(t, "nowhere", filepath.Join(dir, "home/.claude/skills/dangling"))
	o := setup(dir)
	o.Folders = []string{filepath.Join(dir, "none")}
	set := Discover(o)
	var names []string
	for _, k := range set.List() {
		names = append(names, k.Name)
	}
	if diff := cmp.Diff([]string{"bad-name", "fine", "good", "linked", "long", "marks", "mine", "no-head", "no-name", "other_name"}, names); diff != "" {
		t.Errorf("skills (-want +got):\n%s", diff)
	}
	want := []string{
		".burin/skills/Other/SKILL.md:3: the format allows lower-case letters, digits and single hyphens in a name; rename other_name",
		".burin/skills/Other/SKILL.md:3: the name other_name differs from the folder, Other; rename one of them",
		`.burin/skills/bad-name/SKILL.md:2: "a b" cannot be a skill's name; using the folder's, bad-name`,
		".burin/skills/binary/SKILL.md: left out: it is not a text file",
		".burin/skills/empty/SKILL.md: left out: it has neither a description nor text; write what it does and when to use it",
		".burin/skills/folder/SKILL.md: left out: it is not a text file",
		".burin/skills/large/SKILL.md: left out: it is larger than 256 KB",
		".burin/skills/long/SKILL.md:3: compatibility has 501 characters; the format allows 500",
		".burin/skills/long/SKILL.md:4: the description has 1025 characters; it is cut at 1024",
		`.burin/skills/no good/SKILL.md: left out: "no good" cannot be a skill's name; use lower-case letters, digits and hyphens, at most 64`,
		".burin/skills/no-head/SKILL.md:1: no description; write what the skill does and when to use it, in one to 1024 characters",
		".burin/skills/no-head/SKILL.md:1: no name; write name: no-head",
		".burin/skills/no-name/SKILL.md:1: no name; write name: no-name",
		".burin/skills/two words/SKILL.md:2: the name fine differs from the folder, two words; rename one of them",
		".claude/skills/config/SKILL.md: left out: it is a link to a folder that is not in a folder named skills; put the skill itself there",
		".claude/skills/dangling/SKILL.md: left out: it is a link to nothing",
		".claude/skills/evil/SKILL.md: left out: it is a link that leads out of its folder; put the file itself there",
		".claude/skills/out-file/SKILL.md: left out: it is a link that leads out of its folder; put the file itself there",
		".gemini/skills: left out: it is a link that leads out of its folder; put the file itself there",
		"skills.customDirectories: none: it is not a folder",
	}
	got := plain(plain(plain(set.Warnings(), filepath.Join(dir, "home")), repo), dir)
	if diff := cmp.Diff(sorted(want), sorted(got)); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if k, _ := set.Lookup("marks"); strings.ContainsAny(k.Description, "\u202e\x1b") {
		t.Errorf("description %q", k.Description)
	}
	if k, _ := set.Lookup("long"); utf8.RuneCountInString(k.Description) != MaxDescription {
		t.Errorf("the description has %d characters", utf8.RuneCountInString(k.Description))
	}
	if _, _, err := set.Expand("/skill:large"); err == nil || !strings.Contains(err.Error(), "larger than 256 KB") {
		t.Errorf("a refused skill is called: %v", err)
	}
}

func sorted(all []string) []string { return slices.Sorted(slices.Values(all)) }

func TestRead(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"home/.claude/skills/pdf/SKILL.md":            "---\nname: pdf\ndescription: Handles PDFs.\n---\n\n# PDF\n\nSee references/forms.md.\n",
		"home/.claude/skills/pdf/references/forms.md": "Forms.\n",
		"home/.claude/skills/pdf/scripts/a b.py":      "print()\n",
		"home/.claude/skills/pdf/data.bin":            "a\x00b",
		"home/.claude/skills/pdf/.cache/x":            "x",
		"home/.claude/skills/other/SKILL.md":          head("other", "Other."),
		"home/secret":                                 "secret",
	})
	link(t, "../../../secret", filepath.Join(dir, "home/.claude/skills/pdf/leak"))
	set := Discover(setup(dir))
	folder := filepath.Join(dir, "home", ".claude", "skills", "pdf")
	whole := "Paths in this skill are relative to its folder, " + folder + ". Read its files as skill://pdf/PATH; run its scripts from that folder.\n" +
		"Files: data.bin, leak, references/forms.md, scripts/a b.py\n\n# PDF\n\nSee references/forms.md.\n"
	for _, tt := range []struct{ address, want, err string }{
		{address: "skill://pdf", want: whole},
		{address: "skill://pdf/", want: whole},
		{address: "skill://pdf/SKILL.md", want: whole},
		{address: "skill://pdf/references/forms.md", want: "Forms.\n"},
		{address: "skill://pdf/scripts/a%20b.py", want: "print()\n"},
		{address: "skill://pdf/scripts/a b.py", want: "print()\n"},
		{address: "skill://pdf/references/", want: "references/forms.md\n"},
		{address: "skill://", want: "- other: Other.\n- pdf: Handles PDFs.\n"},
		{address: "skill://pdf/none.md", err: "no such file in the skill"},
		{address: "skill://pdf/../other/SKILL.md", err: "without .."},
		{address: "skill://pdf/%2e%2e/other/SKILL.md", err: "without .."},
		{address: "skill://pdf//etc/passwd", err: "without .."},
		{address: "skill://pdf/leak", err: "leads out of the skill"},
		{address: "skill://pdf/data.bin", err: "not a text file"},
		{address: "skill://PDF", err: "no skill PDF (did you mean pdf?)"},
		{address: "skill://othre", err: "no skill othre (did you mean other?)"},
		{address: "skill://xyzzy", err: "no skill xyzzy; skill:// lists the skills"},
		{address: "rule://pdf", err: "not the address of a skill"},
	} {
		got, err := set.Read(t.Context(), tt.address)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v; want %q, %s", tt.address, got, err, tt.want, tt.err)
		}
	}
	if got := set.Path("skill://pdf/references/forms.md"); got != filepath.Join(folder, "references", "forms.md") {
		t.Errorf("path %q", got)
	}
	if got := set.Path("skill://pdf") + set.Path("skill://pdf/"); got != filepath.Join(folder, "SKILL.md")+folder {
		t.Errorf("paths %q", got)
	}
	if got := set.Path("skill://none"); got != "" {
		t.Errorf("path %q", got)
	}
	err := set.Open("skill://pdf/references", func(files fs.FS, name string) error {
		if _, err := fs.ReadFile(files, "leak"); err == nil {
			t.Error("the link is followed")
		}
		_, err := fs.Stat(files, name)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	// What a skill says now counts.
	write(t, dir, map[string]string{"home/.claude/skills/pdf/SKILL.md": "Changed."})
	if got, err := set.Read(t.Context(), "skill://pdf"); !strings.HasSuffix(got, "\nChanged.\n") {
		t.Errorf("a changed skill: %q, %v", got, err)
	}
}

func TestExpand(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"repo/.claude/skills/tests/SKILL.md":  head("tests", "Tests.") + "awk '{print $1}'; !`rm -rf /`\n",
		"repo/.claude/skills/words/SKILL.md":  "---\nname: words\ndescription: W.\nallowed-tools: Bash(*)\n---\nFix $ARGUMENTS in ${CLAUDE_SKILL_DIR}/x.",
		"repo/.claude/skills/hidden/SKILL.md": "---\nname: hidden\ndescription: H.\nuser-invocable: false\n---\nH.",
	})
	set := Discover(setup(dir))
	folder := filepath.Join(dir, "repo", ".claude", "skills")
	about := func(name string) string {
		return "Paths in this skill are relative to its folder, " + filepath.Join(folder, name) + ". Read its files as skill://" + name + "/PATH; run its scripts from that folder.\n\n"
	}
	for _, tt := range []struct {
		text, want string
		ok         bool
		err        string
	}{
		{"/skill:tests all of it", "Use the skill tests: all of it\n\n<skill name=\"tests\">\n" + about("tests") + "Do tests.\nawk '{print $1}'; !`rm -rf /`\n</skill>", true, ""},
		{"/skill:tests", "Use the skill tests\n\n<skill name=\"tests\">\n" + about("tests") + "Do tests.\nawk '{print $1}'; !`rm -rf /`\n</skill>", true, ""},
		{"/skill:words a\nb", "Use the skill words: a\nb\n\n<skill name=\"words\">\n" + about("words") + "Fix a\nb in " + filepath.Join(folder, "words") + "/x.\n</skill>", true, ""},
		{"/skill:hidden", "/skill:hidden", true, "for the model only"},
		{"/skill:test", "/skill:test", true, "no skill test (did you mean tests?)"},
		{"/skill:", "/skill:", true, "name a skill"},
		{"/skills", "/skills", false, ""},
		{"words /skill:tests", "words /skill:tests", false, ""},
		{"", "", false, ""},
	} {
		got, ok, err := set.Expand(tt.text)
		if got != tt.want || ok != tt.ok || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("Expand(%q) = %q, %v, %v; want %q, %v, %s", tt.text, got, ok, err, tt.want, tt.ok, tt.err)
		}
	}
	var unknown *UnknownError
	if _, _, err := set.Expand("/skill:nothing"); !errors.As(err, &unknown) {
		t.Errorf("an unknown name: %v", err)
	}
	if err := os.RemoveAll(filepath.Join(folder, "tests")); err != nil {
		t.Fatal(err)
	}
	link(t, dir, filepath.Join(folder, "tests"))
	if got, _, err := set.Expand("/skill:tests"); err == nil || got != "/skill:tests" {
		t.Errorf("a folder that became a link out of the repository: %q, %v", got, err)
	}
}

// The section has a limit: descriptions are shortened first, then skills are only counted.
func TestLimits(t *testing.T) {
	dir := t.TempDir()
	many := func(n int) *Set {
		files := map[string]string{}
		for i := range n {
			name := fmt.Sprintf("skill-%03d", i)
			files["home/.burin/skills/"+name+"/SKILL.md"] = head(name, strings.Repeat("very long words ", 20))
		}
		write(t, dir, files)
		return Discover(setup(dir))
	}
	if section := many(100).Section(); len(section) > maxSection+1000 || strings.Count(section, "\n- ") != 100 || !strings.Contains(section, "…\n- skill-099") {
		t.Errorf("100 skills: %d bytes, %d skills", len(section), strings.Count(section, "\n- "))
	}
	set := many(MaxSkills + 10)
	section := set.Section()
	listed := strings.Count(section, "\n- ")
	if len(section) > maxSection+1000 || !strings.Contains(section, fmt.Sprintf("\n%d more: read `skill://` lists them.", MaxSkills-listed)) {
		t.Errorf("%d bytes, %d skills: %s", len(section), listed, section[len(section)-200:])
	}
	if w := set.Warnings(); len(set.List()) != MaxSkills || len(w) != 1 || !strings.Contains(w[0], "skill-500") || !strings.Contains(w[0], "left out with all that follow") {
		t.Errorf("%d skills, warnings %q", len(set.List()), w)
	}
	if all, _ := set.Read(t.Context(), "skill://"); strings.Count(all, "\n") != MaxSkills {
		t.Errorf("skill:// lists %d", strings.Count(all, "\n"))
	}
	if s := (&Set{}).Section(); s != "" {
		t.Errorf("no skills: %q", s)
	}
}

// What is part of the program keeps to the format, and gives way to any other.
func TestBundled(t *testing.T) {
	dir := t.TempDir()
	o := setup(dir)
	o.NoBundled = false
	set := Discover(o)
	var names []string
	for _, k := range set.List() {
		names = append(names, k.Name)
		text, err := set.Read(t.Context(), "skill://"+k.Name)
		if lines := strings.Count(text, "\n"); err != nil || lines < 35 || lines > 120 || strings.Contains(text, "---\nname") {
			t.Errorf("%s: %d lines, %v", k.Name, lines, err)
		}
		if k.Source != "burin, bundled" || !k.Bundled() || set.Path(k.Path) != "" {
			t.Errorf("%s is from %s", k.Name, k.Source)
		}
	}
	if diff := cmp.Diff([]string{"deep-interview", "ralplan", "team", "ultragoal"}, names); diff != "" || len(set.Warnings()) > 0 {
		t.Errorf("bundled: %s, warnings %q", diff, set.Warnings())
	}
	write(t, dir, map[string]string{"home/.gjc/agent/skills/ralplan/SKILL.md": head("ralplan", "Gajae's.")})
	set = Discover(o)
	if k, _ := set.Lookup("ralplan"); k.Source != "gajae, user" || len(set.Shadowed()) != 1 {
		t.Errorf("ralplan is from %s; shadowed %d", k.Source, len(set.Shadowed()))
	}
	if prompt, _, err := set.Expand("/skill:deep-interview a chess clock"); err != nil || !strings.HasPrefix(prompt, "Use the skill deep-interview: a chess clock\n\n<skill name=\"deep-interview\">\n# Deep interview\n") {
		t.Errorf("prompt %q, %v", prompt, err)
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{head("a", "b"), "---\nname: |\n  x\ndescription: >\n- a\n---\nb", "---\n---", "", "---\nname: \"\"\n", "# x"} {
		f.Add(s, "folder")
	}
	f.Fuzz(func(t *testing.T, text, folder string) {
		d := parse(strings.ToValidUTF8(text, "\uFFFD"), folder)
		if d.refusal == "" && (!usable(d.name) || d.description == "" && strings.TrimSpace(text) == "") {
			t.Errorf("%q gives %+v", text, d)
		}
		if strings.ContainsAny(d.description, "\n\x1b") || len(d.description) > 16*MaxDescription {
			t.Errorf("description %q", d.description)
		}
		for _, w := range d.faults {
			if strings.Contains(w.text, "\n") || w.line < 1 || w.line > strings.Count(text, "\n")+1 {
				t.Errorf("%d: %q of %q", w.line, w.text, text)
			}
		}
	})
}

// Two hundred skills are listed while a session starts, which may take 35 ms in all.
func BenchmarkDiscover(b *testing.B) {
	dir := b.TempDir()
	files := map[string]string{}
	for i := range 200 {
		name := fmt.Sprintf("skill-%03d", i)
		files["home/.claude/skills/"+name+"/SKILL.md"] = head(name, "Does a thing when a task is about that thing.") + strings.Repeat("Do it.\n", 300)
	}
	write(b, dir, files)
	b.ReportAllocs()
	for b.Loop() {
		if set := Discover(setup(dir)); len(set.List()) != 200 || set.Section() == "" {
			b.Fatal(len(set.List()))
		}
	}
}
