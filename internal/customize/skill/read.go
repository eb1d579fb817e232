package skill

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/burin-dev/burin/internal/customize/front"
	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/prose"
)

// scheme begins the address of a skill, and call the command that gives one to the model.
const (
	scheme = "skill://"
	call   = "/skill:"
)

// maxListed is how many files of a skill are named when it is read.
const maxListed = 40

// Read gives what an address stands for: skill:// lists the skills, skill://name is a skill
// without its head, skill://name/path a file or a folder of it.
func (s *Set) Read(_ context.Context, address string) (text string, err error) {
	if strings.Trim(strings.TrimPrefix(address, scheme), "/") == "" {
		return s.names(), nil
	}
	k, name, err := s.split(address)
	if err != nil {
		return "", err
	}
	err = k.home.open(k.Name, func(files fs.FS) (err error) {
		if name == "." || name == file {
			text, err = k.read(files)
			return err
		}
		text, err = fileText(files, name)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("%s: %s", address, reason(err))
	}
	return text, nil
}

// Path is the file or folder on disk that an address stands for; "" if there is none.
// skill://name is the file of the skill, skill://name/ its folder.
func (s *Set) Path(address string) string {
	k, name, err := s.split(address)
	if err != nil || k.home.bundled {
		return ""
	}
	if name == "." && !strings.HasSuffix(address, "/") {
		name = file
	}
	return filepath.Join(k.home.place.Path, filepath.FromSlash(name))
}

// Open gives the files of the skill of an address to use, and the name of what is meant.
func (s *Set) Open(address string, use func(files fs.FS, name string) error) error {
	k, name, err := s.split(address)
	if err != nil {
		return err
	}
	return k.home.open(k.Name, func(files fs.FS) error { return use(files, name) })
}

// split finds the skill of an address, and what is meant in its folder.
func (s *Set) split(address string) (Skill, string, error) {
	rest, ok := strings.CutPrefix(address, scheme)
	if !ok {
		return Skill{}, "", fmt.Errorf("%s: not the address of a skill, such as skill://name", address)
	}
	name, inside, _ := strings.Cut(rest, "/")
	if name == "" {
		return Skill{}, "", fmt.Errorf("%s: name a skill; skill:// lists them", address)
	}
	k, err := s.find(name)
	if err != nil {
		return Skill{}, "", fmt.Errorf("%s: %w; skill:// lists the skills", address, err)
	}
	if decoded, err := url.PathUnescape(inside); err == nil {
		inside = decoded
	}
	inside = strings.TrimSuffix(inside, "/")
	if inside == "" {
		inside = "."
	}
	if !fs.ValidPath(inside) {
		return Skill{}, "", fmt.Errorf("%s: write a path without .. in the skill's folder", address)
	}
	return k, inside, nil
}

// reason says in a few words why something of a skill cannot be read.
func reason(err error) string {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "no such file in the skill"
	case strings.Contains(err.Error(), "escapes"):
		return "it is a link that leads out of the skill"
	}
	return source.Reason(err)
}

// read gives the text of a skill, with what the model should know of its folder before it.
func (k *Skill) read(files fs.FS) (string, error) {
	text, err := fileText(files, file)
	if err != nil {
		return "", err
	}
	_, body := front.Split(text)
	if body = strings.TrimSpace(body); body == "" {
		body = k.Description
	}
	return k.about(files) + "\n" + body + "\n", nil
}

// about says where a skill's files are and how they are read.
func (k *Skill) about(files fs.FS) string {
	if k.home.bundled {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "Paths in this skill are relative to its folder, %s. Read its files as skill://%s/PATH; run its scripts from that folder.\n", k.home.place.Path, k.Name)
	if all, more := listed(files, "."); len(all) > 0 {
		b.WriteString("Files: " + strings.Join(all, ", "))
		if more {
			b.WriteString(", and more")
		}
		b.WriteString("\n")
	}
	return b.String()
}

// listed are the files below a folder of a skill, but for the skill itself and hidden ones.
func listed(files fs.FS, dir string) (all []string, more bool) {
	_ = fs.WalkDir(files, dir, func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case name != dir && strings.HasPrefix(e.Name(), "."), e.IsDir() && (e.Name() == "node_modules" || strings.Count(name, "/") > 4):
			if e.IsDir() {
				return fs.SkipDir
			}
		case e.IsDir() || name == file:
		case len(all) == maxListed:
			more = true
			return fs.SkipAll
		default:
			all = append(all, prose.Inline(name))
		}
		return nil
	})
	return all, more
}

// fileText reads a file of a skill, or lists a folder.
func fileText(files fs.FS, name string) (string, error) {
	info, err := fs.Stat(files, name)
	if err == nil && info.IsDir() {
		all, more := listed(files, name)
		text := strings.Join(all, "\n") + "\n"
		switch {
		case len(all) == 0:
			text = "(empty folder)\n"
		case more:
			text += fmt.Sprintf("[Only %d files are listed.]\n", maxListed)
		}
		return text, nil
	}
	return source.ReadFS(files, name, MaxFile)
}

// Expand gives the prompt that a text means. What begins with "/skill:" and a name becomes
// the skill's text, with the words that follow in front; ok is false for everything else.
func (s *Set) Expand(text string) (prompt string, ok bool, err error) {
	rest, ok := strings.CutPrefix(text, call)
	if !ok || !s.commands {
		return text, false, nil
	}
	name, args := rest, ""
	if i := strings.IndexAny(rest, " \t\n"); i >= 0 {
		name, args = rest[:i], strings.TrimSpace(rest[i:])
	}
	if name == "" {
		return text, true, errors.New("name a skill: /skill:NAME")
	}
	k, err := s.find(name)
	switch {
	case err != nil:
		return text, true, err
	case k.Uncallable:
		return text, true, fmt.Errorf("the skill %s is for the model only, as its author wrote (user-invocable)", k.Name)
	}
	err = k.home.open(k.Name, func(files fs.FS) error {
		body, err := k.read(files)
		prompt = k.prompt(strings.TrimSpace(body), args)
		return err
	})
	if err != nil {
		return text, true, fmt.Errorf("read the skill %s: %s: %s", k.Name, k.Path, reason(err))
	}
	return prompt, true, nil
}

// prompt is what the model is told where a person calls a skill. $ARGUMENTS in it are the
// person's words, as in Claude Code; $1 and the like stay, because skills show shell code.
func (k *Skill) prompt(body, args string) string {
	first := "Use the skill " + k.Name
	if args != "" {
		first += ": " + args
	}
	return first + "\n\n" + k.block(body, args)
}

// block marks the text of a skill as what it is.
func (k *Skill) block(body, args string) string {
	folder := k.home.place.Path
	if k.home.bundled {
		folder = path.Join(scheme, k.Name)
	}
	body = strings.NewReplacer("${CLAUDE_SKILL_DIR}", folder, "$ARGUMENTS", args).Replace(body)
	return fmt.Sprintf("<skill name=%q>\n%s\n</skill>", k.Name, body)
}

// maxPreload is how many bytes of skills an agent is told from the start.
const maxPreload = 128 << 10

// Preload gives the texts of skills that an agent knows from the start; "" if there are none.
// missing says of each that is left out why.
func (s *Set) Preload(names []string) (text string, missing []string) {
	var all []string
	size := 0
	for _, name := range names {
		k, err := s.find(name)
		if err == nil && k.Unlisted {
			err = fmt.Errorf("only a person may call %s (disable-model-invocation)", k.Name)
		}
		if err == nil {
			err = k.home.open(k.Name, func(files fs.FS) error {
				body, err := k.read(files)
				switch {
				case err != nil:
					return fmt.Errorf("%s: %s", k.Name, reason(err))
				case size+len(body) > maxPreload:
					return fmt.Errorf("%s: more than %d KB of skills", k.Name, maxPreload>>10)
				}
				size += len(body)
				all = append(all, k.block(strings.TrimSpace(body), ""))
				return nil
			})
		}
		if err != nil {
			missing = append(missing, prose.Short(prose.Inline(err.Error()), 200))
		}
	}
	if len(all) == 0 {
		return "", missing
	}
	return "# Skills for this work\n\nFollow these from the start; there is no need to read them again.\n\n" + strings.Join(all, "\n\n"), missing
}
