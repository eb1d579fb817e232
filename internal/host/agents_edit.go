package host

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/customize/subagent"
	"github.com/burin-dev/burin/internal/customize/trust"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/prose"
)

// Get finds an agent by its name, also one that is off.
func (ds Definitions) Get(name string) (*subagent.Definition, error) {
	set, _, err := ds.Find()
	if err != nil {
		return nil, err
	}
	all := set.List()
	for _, fits := range []func(*subagent.Definition) bool{
		func(d *subagent.Definition) bool { return d.Name == name && d.Status() == "" },
		func(d *subagent.Definition) bool { return d.Name == name },
		func(d *subagent.Definition) bool { return d.Is(name) && d.Status() == "" },
		func(d *subagent.Definition) bool { return d.Is(name) },
	} {
		if i := slices.IndexFunc(all, fits); i >= 0 {
			return all[i], nil
		}
	}
	near := ""
	if like := set.Near(name); len(like) > 0 {
		near = " (did you mean " + strings.Join(like, " or ") + "?)"
	}
	return nil, fmt.Errorf("no agent %q%s", prose.Short(name, 60), near)
}

// Command does what a person writes behind /agents, and returns Markdown.
func (ds Definitions) Command(_ context.Context, name string) (string, error) {
	if name != "" {
		d, err := ds.Get(name)
		if err != nil {
			return "", err
		}
		return d.Show(), nil
	}
	set, warnings, err := ds.Find()
	if err != nil {
		return "", err
	}
	return subagent.Text(set, warnings), nil
}

// File is the file of an agent, to be edited. Of one that is part of burin it is the copy in
// the person's folder that [Definitions.Save] makes.
func (ds Definitions) File(d *subagent.Definition) (path, text string, err error) {
	if d.Bundled() {
		text, _ := subagent.BundledText(d.Name)
		return filepath.Join(ds.host.o.Paths.Config, "agents", d.Name+".md"), text, nil
	}
	b, err := smallfile.Read(d.Path, subagent.MaxFile)
	return d.Path, string(b), err
}

// Save writes the file of an agent that a person has edited. before is the text that was
// given to them: where the file has changed meanwhile it stays, and theirs is put beside it. An
// agent that they trusted stays trusted: the words are theirs. What is wrong with the file now is
// returned.
func (ds Definitions) Save(d *subagent.Definition, before, text string) (path string, wrong []string, err error) {
	if path, _, err = ds.File(d); err != nil {
		return path, nil, err
	}
	if d.Bundled() {
		err = createAgent(path, text)
	} else {
		err = replaceAgent(path, before, text)
	}
	if err != nil {
		return path, nil, err
	}
	found, warnings := subagent.Discover(ds.host.Sources())
	if d.Project && d.Trusted {
		if wanted := slices.DeleteFunc(wantedAgents(found), func(w Wanted) bool { return w.Path != path }); len(wanted) > 0 {
			err = ds.host.Decide(trust.Trusted, wanted)
		}
	}
	for _, w := range warnings {
		if strings.HasPrefix(w, path+":") {
			wrong = append(wrong, w)
		}
	}
	return path, wrong, err
}

// createAgent writes the copy of an agent that is part of burin.
func createAgent(path, text string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already: edit it, or move it away", path)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

// replaceAgent writes a file that is as it was. It keeps who may read it: a repository's is no
// secret.
func replaceAgent(path, before, text string) error {
	now, err := smallfile.Read(path, subagent.MaxFile)
	if err != nil {
		return err
	}
	if !bytes.Equal(now, []byte(before)) {
		mine := path + ".mine"
		if err := createAgent(mine, text); err != nil {
			return fmt.Errorf("%s has changed meanwhile: %w", path, err)
		}
		return fmt.Errorf("%s has changed meanwhile: your text is in %s", path, mine)
	}
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if err := smallfile.Replace(path, []byte(text)); err != nil {
		return err
	}
	return os.Chmod(path, info.Mode().Perm())
}
