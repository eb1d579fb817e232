package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/burin-dev/burin/internal/customize/prompt"
	"github.com/burin-dev/burin/internal/customize/rule"
	"github.com/burin-dev/burin/internal/customize/source"
	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool"
	"github.com/burin-dev/burin/transcript"
)

// Guidance says which rules a session has, and how its stream rules act.
type Guidance struct {
	Rules     *rule.Set // nil: none
	Interrupt string    // where stream rules may interrupt; "" is always
	Keep      bool      // a partial answer that is stopped stays in the conversation
	Gap       int       // answers after which a stream rule may come again; 0 is never
	// Reload gives the rules before a prompt if they are others than before; nil: they stay.
	Reload func() *rule.Set
	// InFolder gives the rules of a folder below the working directory; nil: there are none.
	InFolder func(folder string) []rule.Rule
}

const (
	ruleLink = "rule" // the name of its links
	maxStops = 3      // answers that rules may stop per prompt
	// maxJoined is how many bytes of rules join the results between two requests. Further
	// rules are only named there.
	maxJoined = 32 << 10
)

// guide gives the model rules and instructions when they matter: those about files and folders
// with the first call that touches one, stream rules when the model writes what they are about,
// and instruction files that have changed before the next prompt.
type guide struct {
	Guidance
	dir      string
	sources  source.Options
	discover func() []prompt.File // the instruction files as they are now
	system   map[source.Kind][]words
	stream   rule.StreamOptions
	log      *session.RuleLog

	mu      sync.Mutex
	monitor *rule.Monitor // nil: there are no stream rules
	there   presence
	joined  int                     // bytes since the last request
	pending map[string][]*rule.Rule // stream rules that did not interrupt, by the call they are about; "" is text
	folders map[string]*folder      // by path
	told    map[string]string       // what news has told, by name
}

// folder is what holds in a folder below the working directory.
type folder struct {
	files []prompt.File
	rules []rule.Rule
}

// words are what the model reads from the beginning: an instruction file or a rule.
type words struct {
	name, text, block string
	marker            string // "": it is not looked for in the conversation
}

func fileWords(files []prompt.File) (all []words) {
	for _, f := range files {
		all = append(all, words{f.Name, f.Text, f.Block(), f.Marker()})
	}
	return all
}

func ruleWords(set *rule.Set) (all []words) {
	for _, r := range set.Always() {
		all = append(all, words{r.Name, r.Text, r.Block(), r.Marker()})
	}
	if list := set.Listed(); list != "" {
		all = append(all, words{name: "the list of rules", text: list, block: list})
	}
	return all
}

// newGuide joins the rules of a session to its chains, and instruction files that matter only
// in some folder or change while it lives. news gives those that have changed.
func newGuide(b *seat, repository string) (news func() []llm.Message) {
	if b.dir == "" || b.NoFiles {
		return nil
	}
	sources := sourcesOf(b, repository)
	g := &guide{
		Guidance: b.Guidance, dir: b.dir, sources: sources, log: new(session.RuleLog), pending: map[string][]*rule.Rule{},
		told: map[string]string{}, folders: map[string]*folder{},
		system:   map[source.Kind][]words{source.Instructions: fileWords(b.instructions), source.Rules: ruleWords(b.Guidance.Rules)},
		stream:   rule.StreamOptions{Interrupt: b.Guidance.Interrupt, Gap: b.Guidance.Gap, Workspace: b.dir, Warn: b.Warn},
		discover: func() []prompt.File { return prompt.Discover(sources).Files },
	}
	g.monitor = rule.NewMonitor(g.Rules, g.stream)
	if g.monitor != nil {
		past, err := b.log.Select(b.log.Leaf(), func(n transcript.Node) bool { return n.Type == transcript.TypeTTSR })
		for i := range past {
			g.monitor.Came(past[i].InjectedRules)
		}
		if err != nil {
			b.Warn("which rules came already cannot be read from the session: " + err.Error())
		}
	}
	c := &b.Chains
	c.Rules = g.log
	c.Answers = append(c.Answers[:len(c.Answers):len(c.Answers)],
		session.AnswerWatcher{Name: "context", Watch: g.look},
		session.AnswerWatcher{Name: ruleLink, Max: maxStops, Watch: g.watch})
	c.Calls = append(c.Calls[:len(c.Calls):len(c.Calls)], session.CallInterceptor{Name: ruleLink, After: g.after})
	c.Continue = append(c.Continue[:len(c.Continue):len(c.Continue)], session.Continuation{Name: ruleLink, Ask: g.remind})
	return g.news
}

// sourcesOf says where the instruction files of a session are.
func sourcesOf(b *seat, repository string) source.Options {
	o := b.Sources
	if o.ConfigDir == "" {
		o.ConfigDir = b.ConfigDir
	}
	o.Dir, o.Root, o.Withheld = b.dir, repository, withheld(b.policy, b.dir)
	if rel, err := filepath.Rel(repository, b.dir); repository == "" || err != nil || !filepath.IsLocal(rel) {
		o.Root = b.dir
	}
	return o
}

// ruleParts are the parts of the system prompt about rules.
func ruleParts(b *seat) (parts []session.Part) {
	if b.Guidance.Rules == nil || b.dir == "" || b.NoFiles {
		return nil
	}
	sections, warnings := b.Guidance.Rules.Sections()
	for _, w := range warnings {
		b.Warn(w)
	}
	for _, s := range sections {
		parts = append(parts, session.Part(s))
	}
	return parts
}

// look notes which rules the model still has before it, and watches nothing.
func (g *guide) look(_ context.Context, r *llm.Request) func(llm.Event) *session.Stop {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.there.update(r.Messages)
	g.joined = 0
	for call := range g.pending {
		if call != "" {
			delete(g.pending, call) // it did not run
		}
	}
	return nil
}

// watch looks for the patterns of stream rules in an answer.
func (g *guide) watch(context.Context, *llm.Request) func(llm.Event) *session.Stop {
	g.mu.Lock()
	monitor := g.monitor
	g.mu.Unlock()
	if monitor == nil {
		return nil
	}
	answer := monitor.Answer()
	return func(e llm.Event) *session.Stop {
		hit := answer.See(&e)
		if hit == nil {
			return nil
		}
		if !hit.Interrupt {
			g.mu.Lock()
			g.pending[hit.Call] = append(g.pending[hit.Call], hit.Rules...)
			g.mu.Unlock()
			return nil
		}
		why := named(hit.Rules)
		if hit.Text != "" {
			why += fmt.Sprintf(" (%q)", prose.Cut(prose.Line(hit.Text), 60))
		}
		what := "It was discarded, and no call of it ran."
		if g.Keep {
			what = "What you had written is above; no call of it ran."
		}
		return &session.Stop{
			Why: why, Keep: g.Keep, Rules: refs(hit.Rules),
			Note: fmt.Sprintf("[Your answer was stopped because of %q. %s Follow what is below, and answer again without mentioning this.]\n\n%s",
				prose.Cut(prose.Line(hit.Text), 200), what, rule.Texts(hit.Rules)),
		}
	}
}

// after adds rules to the result of a call: those about files that it touched, and stream
// rules that its arguments or the text before it have triggered.
func (g *guide) after(_ context.Context, t *tool.Tool, c tool.Call, r *tool.Result) (*tool.Result, error) {
	var text strings.Builder
	if rules := g.take(c.ID, ""); len(rules) > 0 {
		text.WriteString(reminder(rules))
	}
	files := g.files(t, c)
	g.mu.Lock()
	var joining []*rule.Rule
	var nested []string
	var more []string
	join := func(marker, text, address string) bool {
		if g.there.has(marker) {
			return false
		}
		g.there.add(marker)
		if g.joined += len(text); g.joined > maxJoined {
			more = append(more, address)
			return false
		}
		return true
	}
	for _, f := range files {
		below := g.nested(f)
		for _, in := range below {
			for _, file := range in.files {
				if join(file.Marker(), file.Text, file.Name) {
					nested = append(nested, file.Block())
				}
			}
		}
		for _, r := range g.Rules.For(f, g.dir) {
			if join(r.Marker(), r.Text, "rule://"+r.Name) {
				joining = append(joining, r)
			}
		}
		for _, in := range below {
			for i := range in.rules {
				if r := &in.rules[i]; r.About(f, g.dir) && join(r.Marker(), r.Text, r.Path) {
					joining = append(joining, r)
				}
			}
		}
	}
	g.mu.Unlock()
	if len(nested) > 0 {
		text.WriteString(folderHead + strings.Join(nested, "\n") + "\n")
	}
	if len(joining) > 0 {
		text.WriteString(joinHead + rule.Texts(joining))
	}
	if len(more) > 0 {
		fmt.Fprintf(&text, "\n[Read these too before you go on: %s]\n", strings.Join(more, ", "))
	}
	if text.Len() == 0 {
		return nil, nil
	}
	out := *r
	out.Content = append(out.Content[:len(out.Content):len(out.Content)], llm.Text{Text: strings.TrimSpace(text.String())})
	return &out, nil
}

// joinHead begins what joins a result.
const joinHead = "[These rules of the user and the repository are about files that this call touched. Follow them from now on.]\n\n"

// folderHead begins instructions of folders that join a result.
const folderHead = "[These instructions of the repository are about the folders of files that this call touched. Follow them there from now on.]\n\n"

// nested returns the instructions of the folders on the way to a file that the system prompt lacks.
func (g *guide) nested(file string) (all []*folder) {
	rel, err := filepath.Rel(g.sources.Root, filepath.Dir(file))
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	at := g.sources.Root
	for part := range strings.SplitSeq(filepath.ToSlash(rel), "/") {
		at = filepath.Join(at, part)
		if below, err := filepath.Rel(at, g.dir); err == nil && filepath.IsLocal(below) {
			continue // the system prompt has it
		}
		in := g.folders[at]
		if in == nil {
			in = &folder{files: prompt.InFolder(g.sources, at)}
			if g.InFolder != nil {
				in.rules = g.InFolder(at)
			}
			g.folders[at] = in
		}
		all = append(all, in)
	}
	return all
}

// newsType is the custom type of messages about instruction files that have changed.
const newsType = "instructions"

// news tells, before a prompt, what of the instruction files and rules has changed since the
// session began. The system prompt stays as it is, so that the provider's cache holds.
func (g *guide) news() []llm.Message {
	files := fileWords(g.discover())
	var set *rule.Set
	if g.Reload != nil {
		set = g.Reload()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.folders)
	if set != nil {
		g.Rules = set
		monitor := rule.NewMonitor(set, g.stream)
		monitor.After(g.monitor)
		g.monitor = monitor
	}
	text := g.changes(source.Instructions, "Instruction files have changed since this session began.", "These instruction files are gone; what they said no longer holds", files) +
		g.changes(source.Rules, "Rules have changed since this session began.", "These rules are gone and no longer hold", ruleWords(g.Rules))
	if text == "" {
		return nil
	}
	return []llm.Message{{Role: llm.RoleCustom, CustomType: newsType, Content: []llm.Block{llm.Text{Text: text}}}}
}

// changes tells what differs from the system prompt and from what was told since.
func (g *guide) changes(kind source.Kind, changedHead, goneHead string, now []words) (text string) {
	var changed, gone []string
	current := map[string]bool{}
	for _, w := range now {
		key := string(kind) + w.name
		current[key] = true
		before, told := g.told[key]
		if !told {
			before = textOf(g.system[kind], w.name)
		}
		if w.text == before && (!told || w.marker == "" || g.there.has(w.marker) || w.text == textOf(g.system[kind], w.name)) {
			continue
		}
		g.told[key] = w.text
		if w.marker != "" {
			g.there.add(w.marker)
		}
		changed = append(changed, w.block)
	}
	for _, w := range g.system[kind] {
		key := string(kind) + w.name
		if text, told := g.told[key]; !current[key] && (!told || text != "") {
			g.told[key] = ""
			gone = append(gone, w.name)
		}
	}
	if len(changed) > 0 {
		text = "[" + changedHead + " What follows holds now.]\n\n" + strings.Join(changed, "\n") + "\n"
	}
	if len(gone) > 0 {
		text += "[" + goneHead + ": " + strings.Join(gone, ", ") + "]"
	}
	return text
}

func textOf(all []words, name string) string {
	for _, w := range all {
		if w.name == name {
			return w.text
		}
	}
	return ""
}

// reminder is what the model reads about stream rules that did not interrupt it.
func reminder(rules []*rule.Rule) string {
	return "[What you just wrote is what these rules are about. Put it right where they apply, and follow them from now on.]\n\n" + rule.Texts(rules)
}

// remind gives the model the rules that its text has triggered, when it has stopped.
func (g *guide) remind(context.Context, session.Ending) (*session.Onward, error) {
	rules := g.take("")
	if len(rules) == 0 {
		return nil, nil
	}
	return &session.Onward{Message: llm.Message{Content: []llm.Block{llm.Text{Text: reminder(rules)}}}}, nil
}

// take takes the pending rules of calls, and records that the model reads them.
func (g *guide) take(calls ...string) (rules []*rule.Rule) {
	g.mu.Lock()
	for _, c := range calls {
		rules = append(rules, g.pending[c]...)
		delete(g.pending, c)
	}
	g.mu.Unlock()
	if len(rules) > 0 {
		g.log.Triggered(refs(rules))
	}
	return rules
}

// files are the absolute paths of files that a call has read or changed.
func (g *guide) files(t *tool.Tool, c tool.Call) (files []string) {
	if t.Effects&(tool.Reads|tool.Writes) == 0 || t.Effects.Has(tool.Executes) {
		return nil
	}
	access, err := t.Accesses(c.Arguments)
	if err != nil {
		return nil
	}
	for _, a := range access {
		if a.Target == "" || a.Kind != tool.AccessRead && a.Kind != tool.AccessWrite {
			continue
		}
		if strings.Contains(a.Target, "://") {
			continue // rules and instructions are about files of the workspace
		}
		path := filepath.FromSlash(a.Target)
		if !filepath.IsAbs(path) {
			path = filepath.Join(g.dir, path)
		}
		if info, err := os.Stat(path); err != nil || info.Mode().IsRegular() {
			files = append(files, path)
		}
	}
	return files
}

func named(rules []*rule.Rule) string {
	var names []string
	for _, r := range rules {
		names = append(names, r.Name)
	}
	return strings.Join(names, ", ")
}

func refs(rules []*rule.Rule) (refs []session.Rule) {
	for _, r := range rules {
		refs = append(refs, session.Rule{Name: r.Name, Path: r.Path})
	}
	return refs
}

// presence knows which texts that were added to results the model still has before it. They go
// when a conversation is compacted, when old outputs are shortened, or on another branch; then
// they are given again.
type presence struct {
	at      map[string]int // by marker: the index of the message; -1 was added since the last request
	scanned int            // messages
	last    time.Time      // of the last of them
}

func (p *presence) has(marker string) bool { _, ok := p.at[marker]; return ok }

func (p *presence) add(marker string) {
	if p.at == nil {
		p.at = map[string]int{}
	}
	p.at[marker] = -1
}

// update looks at a conversation. It looks at new messages only, unless one of the known
// places has changed.
func (p *presence) update(messages []llm.Message) {
	same := p.scanned <= len(messages) && (p.scanned == 0 || messages[p.scanned-1].Time.Equal(p.last))
	for marker, i := range p.at {
		if !same {
			break
		}
		same = i < 0 || holds(&messages[i], marker)
	}
	if !same {
		p.scanned, p.at = 0, nil
	}
	for marker, i := range p.at {
		if i < 0 {
			delete(p.at, marker)
		}
	}
	for ; p.scanned < len(messages); p.scanned++ {
		m := &messages[p.scanned]
		for _, marker := range markers(m) {
			p.add(marker)
			p.at[marker] = p.scanned
		}
		p.last = m.Time
	}
}

// markers are the first lines of what was added to a result. What a tool itself says is the
// first block, and is not looked at: a file could claim anything.
func markers(m *llm.Message) (all []string) {
	switch {
	case m.Role == llm.RoleToolResult && len(m.Content) > 1:
	case m.Role == llm.RoleCustom && m.CustomType == newsType && len(m.Content) > 0:
	default:
		return nil
	}
	t, ok := m.Content[len(m.Content)-1].(llm.Text)
	if !ok || !strings.HasPrefix(t.Text, "[") {
		return nil
	}
	for line := range strings.Lines(t.Text) {
		if strings.HasPrefix(line, "<rule name=") || strings.HasPrefix(line, "<instructions from=") {
			all = append(all, strings.TrimSuffix(line, "\n"))
		}
	}
	return all
}

func holds(m *llm.Message, marker string) bool {
	for _, other := range markers(m) {
		if other == marker {
			return true
		}
	}
	return false
}
