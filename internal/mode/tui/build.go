package tui

import (
	"time"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
)

// newApp makes the parts of the face and joins them. None of them knows app: a part that
// another one calls back is there before that, and is filled in afterwards.
func newApp(o Options) *app {
	in := newInbox()
	b := &base{inbox: in, env: &pane.Env{Post: in.post, Now: time.Now}, getenv: o.Getenv, dir: o.Dir, home: o.Home, talk: newTalk()}
	cur, end, sw, br, cmds := &current{base: b}, &exit{base: b}, &switcher{}, &brake{}, &commands{}

	// What is seen.
	d := &display{base: b, exit: end, term: o.Terminal, keys: make(chan key.Event, 256)}
	show := newAppearance(b, &o)
	desktop := newDesktop(b, d, o.Paths.Data, func() []string { return append([]string{b.dir}, show.config.Sandbox.Writable...) })
	composer := newComposer(b, desktop, &o)
	panes := &panes{base: b, display: d, typed: composer.typedOn}
	facts := newFacts(b, cur, show)
	b.talk.images = (&pictures{base: b, show: show, display: d}).add
	prompt := &prompt{base: b, show: show, facts: facts, composer: composer}

	// What is done.
	work := &work{base: b, current: cur, facts: facts, composer: composer, show: show}
	outbox := &outbox{base: b, current: cur, exit: end, work: work, composer: composer, open: sw.open, understood: cmds.understood}
	work.idle = outbox.sendWaiting
	shell := &shell{base: b, current: cur, facts: facts, composer: composer, work: work, outbox: outbox, open: sw.open}
	*br = brake{base: b, current: cur, work: work, outbox: outbox, shell: shell}
	review := &planReview{base: b, desktop: desktop, composer: composer}
	asks := &questions{base: b, current: cur, show: show, display: d, panes: panes, composer: composer, stop: br.stop, review: review}
	repeater := &repeater{base: b, current: cur, show: show, composer: composer, work: work, outbox: outbox, open: sw.open, isCommand: func(name string) bool {
		_, ok := cmds.known(name)
		return ok
	}}
	*sw = switcher{
		base: b, current: cur, exit: end, show: show, facts: facts, composer: composer, work: work, outbox: outbox, asks: asks, shell: shell, repeater: repeater,
		opens: o.Open, reload: func() { o.Host.Reload() }, prepare: func() { cmds.prepare() },
	}

	// What is called.
	*cmds = commands{base: b, current: cur, composer: composer, work: work, outbox: outbox, shell: shell, host: o.Host, words: o.Words}
	g := &groups{reader: &reader{base: b, current: cur, panes: panes, work: work, desktop: desktop}, repeater: repeater, outbox: outbox, exit: end}
	g.archives = &archives{
		base: b, current: cur, exit: end, panes: panes, composer: composer, desktop: desktop, work: work, brake: br, switcher: sw, host: o.Host,
	}
	g.conversation = &conversation{
		base: b, current: cur, show: show, facts: facts, panes: panes, composer: composer, work: work, brake: br, drop: g.archives.dropSession,
	}
	g.models = &models{
		base: b, current: cur, show: show, facts: facts, panes: panes, work: work, asks: asks, switcher: sw, stop: br.stop, host: o.Host, openPage: o.OpenPage,
	}
	g.setup = &setup{
		base: b, current: cur, show: show, facts: facts, panes: panes, switcher: sw, host: o.Host, openPage: o.OpenPage,
		prompt: o.Prompt, resuming: o.Resume || o.Choose, exit: end,
	}
	sw.welcome, sw.offer = g.setup.welcome, g.setup.offer
	g.views = &views{
		base: b, current: cur, show: show, display: d, panes: panes, composer: composer, work: work, models: g.models, commands: cmds,
		host: o.Host, paths: o.Paths, version: o.Version, changes: o.Changelog,
	}
	g.agents = &agents{base: b, panes: panes, composer: composer, work: work, host: o.Agents}
	g.servers = &serverPanel{base: b, current: cur, panes: panes, login: g.models.loginTo, desk: o.Servers}
	g.tasks = &tasks{base: b, current: cur, facts: facts, panes: panes, desktop: desktop, work: work, outbox: outbox}
	g.pursuit = &pursuit{base: b, current: cur, composer: composer, work: work, outbox: outbox}
	g.plan = &planMode{base: b, current: cur, facts: facts, panes: panes, composer: composer, work: work, outbox: outbox, review: review}
	g.subagents = &subagents{base: b, current: cur, facts: facts, panes: panes, asks: asks, desktop: desktop, show: show, compose: composer, switcher: sw, running: o.Running, drafts: map[string]string{}}
	sw.left, composer.elsewhere = g.subagents.reset, g.subagents.typed
	cmds.table = table(g)

	// What comes in.
	line := &lineCommand{base: b, current: cur, facts: facts, show: show, host: o.Host, version: o.Version}
	facts.told, show.taken = line.refresh, line.refresh
	follower := &follower{base: b, current: cur, show: show, composer: composer, host: o.Host}
	greeter := &greeter{base: b, show: show, display: d, version: o.Version}
	listener := &listener{
		base: b, current: cur, show: show, display: d, facts: facts, composer: composer, work: work, outbox: outbox, asks: asks, panes: panes, switcher: sw,
		reader: g.reader, repeater: repeater, models: g.models, pursuit: g.pursuit, plan: g.plan, subagents: g.subagents, host: o.Host,
	}
	input := &input{
		base: b, exit: end, show: show, display: d, panes: panes, composer: composer, desktop: desktop, outbox: outbox, asks: asks,
		reader: g.reader, brake: br, work: work, commands: cmds, models: g.models, plan: g.plan, greeter: greeter,
		pointer: &pointer{base: b, display: d, panes: panes, prompt: prompt}, prompt: prompt, follower: follower,
	}
	return &app{
		base: b, current: cur, exit: end, o: o, display: d, panes: panes, show: show, composer: composer, prompt: prompt, facts: facts,
		work: work, outbox: outbox, asks: asks, shell: shell, brake: br, switcher: sw, commands: cmds, groups: g,
		greeter: greeter, listener: listener, input: input, follower: follower,
	}
}
