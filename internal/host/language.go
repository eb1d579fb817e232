package host

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/burin-dev/burin/internal/bench"
	"github.com/burin-dev/burin/internal/customize/config"
	"github.com/burin-dev/burin/internal/customize/trust"
	"github.com/burin-dev/burin/internal/installed"
	"github.com/burin-dev/burin/internal/jsontext"
	"github.com/burin-dev/burin/internal/platform/lsp"
	"github.com/burin-dev/burin/internal/platform/smallfile"
	"github.com/burin-dev/burin/internal/prose"
)

// languageSuffix ends the names of items of trust that are about language servers.
const languageSuffix = "#lsp"

// maxSummed is the largest program whose content is what is trusted; of a larger one it is the size
// and the time.
const maxSummed = 1 << 20

// LanguageServer is a language server for the folder.
type LanguageServer struct {
	lsp.Server
	Standing Standing // on, or needs trust, or refused
}

// LanguageServers are the servers that can be started for the folder, those first that are
// preferred. What is wrong with the files that define them is told by the warnings.
func LanguageServers(h *Host, dir string) (found []LanguageServer, idle time.Duration, warnings []string) {
	list, project, idle, warnings := languageTable(h, dir)
	o := lsp.FindOptions{
		Look:    func(name string) (string, error) { return lookFor(name, dir) },
		Project: lsp.ProjectFolders(dir),
	}
	for _, s := range lsp.Find(list, dir, o) {
		one := LanguageServer{Server: s, Standing: ServerOn}
		if item, needs := languageItem(&s, dir, project); needs {
			switch states, err := trustList(h).States(dir, []trust.Item{item}); {
			case err != nil:
				warnings = append(warnings, err.Error())
				one.Standing = ServerWaits
			case states[0] == trust.Refused:
				one.Standing = ServerRefused
			case states[0] != trust.Trusted:
				one.Standing = ServerWaits
			}
			if one.Standing != ServerOn { // one that is installed does as well
				if path, err := lookFor(s.Command, dir); err == nil && !project[s.Name] {
					one.Path, one.Project, one.Standing = path, false, ServerOn
				}
			}
		}
		found = append(found, one)
	}
	return found, idle, warnings
}

// lookFor finds a program that commands can't have put there. A person's absolute path is taken as
// it is.
func lookFor(name, dir string) (string, error) {
	if filepath.IsAbs(name) {
		info, err := os.Stat(name)
		if err == nil && !info.Mode().IsRegular() {
			err = fmt.Errorf("%s is no program", name)
		}
		return name, err
	}
	return installed.Path(name, dir)
}

// languageTable is burin's table with the files of the user and the project over it. project has
// the names of those servers that the project defines.
func languageTable(h *Host, dir string) (list []lsp.Server, project map[string]bool, idle time.Duration, warnings []string) {
	list = lsp.Table()
	project = map[string]bool{}
	folders := []string{h.o.Paths.Config}
	if file := h.ProjectSettings(); file != "" {
		folders = append(folders, filepath.Dir(file))
	}
	for i, folder := range folders {
		for _, name := range []string{"lsp.json", "lsp.yaml", "lsp.yml"} {
			path := filepath.Join(folder, name)
			text, err := readDefinitions(path)
			if text == nil && err == nil {
				continue
			}
			var merged []lsp.Server
			var idleMS *int
			if err == nil {
				merged, idleMS, err = lsp.Merge(list, text)
			}
			if err != nil {
				warnings = append(warnings, fmt.Sprintf("%s: left out: %s", path, prose.Line(err.Error())))
				continue
			}
			for _, s := range merged {
				old := slices.IndexFunc(list, func(o lsp.Server) bool { return o.Name == s.Name })
				if i > 0 && (old < 0 || !same(&list[old], &s)) {
					project[s.Name] = true
				}
			}
			list = merged
			if idleMS != nil {
				idle = time.Duration(*idleMS) * time.Millisecond
				if *idleMS <= 0 {
					idle = -1
				}
			}
		}
	}
	return list, project, idle, warnings
}

// same reports whether a definition runs what another one runs.
func same(a, b *lsp.Server) bool {
	x, _ := json.Marshal(a) // of texts: it cannot fail
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// maxDefinitions is the largest file of definitions.
const maxDefinitions = 1 << 20

// readDefinitions reads a file of definitions as JSON; nil if there is none.
func readDefinitions(path string) ([]byte, error) {
	text, err := smallfile.Read(path, maxDefinitions)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if filepath.Ext(path) == ".json" {
		return jsontext.Standard(text), nil
	}
	if err := smallfile.CheckNesting(text); err != nil {
		return nil, err
	}
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	return json.Marshal(tree)
}

// languageItem is what trust is asked for before a server is started; needs is false if it is the
// person's own.
func languageItem(s *lsp.Server, dir string, project map[string]bool) (item trust.Item, needs bool) {
	if !s.Project && !project[s.Name] {
		return item, false
	}
	name := s.Name
	sum, _ := json.Marshal(s) // of texts: it cannot fail
	if rel, err := filepath.Rel(dir, s.Path); err == nil && filepath.IsLocal(rel) {
		name = filepath.ToSlash(rel)
		sum = append(sum, programSum(s.Path)...)
	}
	return trust.Item{
		Name: name + languageSuffix, Sum: trust.Sum(sum),
		What: prose.Inline(fmt.Sprintf("language server %s runs %s %v", s.Name, name, s.Args)),
	}, true
}

// programSum is what a program is recognized by.
func programSum(path string) []byte {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil
	}
	info, err := os.Stat(real)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	if info.Size() <= maxSummed {
		if data, err := os.ReadFile(real); err == nil {
			return data
		}
	}
	return fmt.Appendf(nil, "%s %d %d", real, info.Size(), info.ModTime().UnixNano())
}

// wantedLanguageServers are the servers of the project that need trust.
func wantedLanguageServers(h *Host) (all []Wanted) {
	settings, err := h.Settings()
	dir := h.o.Dir
	if err != nil || dir == "" || !settings.Bool("lsp.enabled") {
		return nil
	}
	list, project, _, _ := languageTable(h, dir) // what is wrong with the files is told where they are used
	o := lsp.FindOptions{Project: lsp.ProjectFolders(dir), Look: func(string) (string, error) { return "", fs.ErrNotExist }}
	if len(project) > 0 {
		o.Look = func(name string) (string, error) { return lookFor(name, dir) }
	}
	for _, s := range lsp.Find(list, dir, o) {
		if item, needs := languageItem(&s, dir, project); needs {
			all = append(all, Wanted{Item: item, Owner: "language server, project", Path: s.Path, Project: dir})
		}
	}
	return all
}

// ProbeLanguageServer starts a server for the folder, and ends it once it has answered. Of one that
// fails it gives the end of its log.
func ProbeLanguageServer(ctx context.Context, h *Host, s *LanguageServer) (log string, err error) {
	pool := lsp.NewPool(lsp.Options{Version: h.o.Version})
	defer pool.Close()
	l := pool.Link(&s.Server, h.o.Dir)
	err = l.Start(ctx)
	return l.Log(), err
}

// giveLanguageServers gives a session the language servers of its folder.
func giveLanguageServers(h *Host, o *Session, settings *config.Config) {
	if o.Ground.Files != nil || o.External != nil || o.NoTools || o.NoLSP || !settings.Bool("lsp.enabled") || o.Under != nil && !settings.Bool("task.enableLsp") {
		return
	}
	dir := o.Ground.Dir
	if dir == "" {
		dir = h.o.Dir
	}
	found, idle, warnings := LanguageServers(h, dir)
	l := bench.Language{
		Idle: idle, Version: h.o.Version, OnWrite: settings.Bool("lsp.diagnosticsOnWrite"), OnEdit: settings.Bool("lsp.diagnosticsOnEdit"),
		Repeat: !settings.Bool("lsp.diagnosticsDeduplicate"), Format: settings.Bool("lsp.formatOnWrite"),
	}
	for _, s := range found {
		switch s.Standing {
		case ServerOn:
			l.Servers = append(l.Servers, s.Server)
		case ServerWaits:
			if can := o.Desk != nil && o.Desk.CanAsk(); !can {
				warnings = append(warnings, fmt.Sprintf("language server %s does not start before you trust %s: burin trust shows it", s.Name, s.Path))
			}
		}
	}
	if o.Under == nil {
		for _, w := range warnings {
			o.Warn(w)
		}
	}
	o.Language = l
}
