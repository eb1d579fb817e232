package selector

import (
	"fmt"
	"slices"
	"strings"

	"github.com/burin-dev/burin/internal/mode/tui/key"
	"github.com/burin-dev/burin/internal/mode/tui/list"
	"github.com/burin-dev/burin/internal/mode/tui/pane"
	"github.com/burin-dev/burin/internal/mode/tui/screen"
	"github.com/burin-dev/burin/internal/model/catalog"
	"github.com/burin-dev/burin/llm"
)

// Role is a use of a model, and the model that it is set to.
type Role struct {
	Name string
	Ref  string // "provider/id"; "" where it is not set, and means what default means
	// Fixed says where it is set by what the settings do not win over, such as
	// "the command line"; it cannot be changed then.
	Fixed string
}

// Roles lists the roles with the models they mean.
func Roles(r *catalog.Resolver) []Role {
	var roles []Role
	for _, name := range r.Roles() {
		role := Role{Name: name}
		if selector, _ := r.RoleSelector(name); selector != "" {
			if c, err := r.Role(name); err == nil {
				role.Ref = c.Model.Ref()
			}
		}
		roles = append(roles, role)
	}
	return roles
}

// ModelOptions of [Models].
type ModelOptions struct {
	// Models in the order of preference, as [catalog.Registry.All] gives them.
	Models []*catalog.Model
	// Usable says that a model can be used as things are; nil is all.
	Usable func(*catalog.Model) bool
	// Canonical is the official id of a model, for the facts; may be nil.
	Canonical func(*catalog.Model) string
	Current   string // the model in use, "provider/id"
	Roles     []Role
	Query     string

	// OnChoose is given models that cannot be used, too: a key or a login is then to
	// be asked for.
	OnChoose func(m *catalog.Model, usable bool)
	// OnRole sets a role to a model, or with an empty ref to nothing. The pane stays.
	OnRole   func(role, ref string)
	OnCancel func()
}

// Keys that the selector of models has beyond those of lists.
const (
	roleKey  key.Key = "ctrl+r"
	clearKey key.Key = "delete"
)

// The scopes, as chips.
const (
	scopeUsable = iota
	scopeAll
	scopeRoles
)

// Models is a pane to choose a model in, and to give models roles. Those that can be
// used come first. It begins with these, or where there are none with all.
type Models struct {
	env   *pane.Env
	o     ModelOptions
	list  *list.List
	byRef map[string]*catalog.Model
	ready map[string]bool // refs of usable models
	role  *list.List      // the question which role, while it is asked
	scope int
}

var _ pane.Pane = (*Models)(nil)

// NewModels makes the pane.
func NewModels(env *pane.Env, o ModelOptions) *Models {
	m := &Models{env: env, o: o, byRef: make(map[string]*catalog.Model, len(o.Models)), ready: map[string]bool{}, scope: scopeAll}
	for _, x := range o.Models {
		ref := x.Ref()
		m.byRef[ref] = x
		if o.Usable == nil || o.Usable(x) {
			m.ready[ref] = true
			m.scope = scopeUsable
		}
	}
	if o.Current != "" && !m.ready[o.Current] {
		m.scope = scopeAll
	}
	m.list = list.New(env, list.Options{
		Title: "Models", Chips: m.chips(), Chip: m.scope, Query: o.Query,
		Items: m.items(), Selected: o.Current,
		Empty:    m.empty(),
		Hint:     "Tab other models " + env.Styles.Symbols().Dot + " " + roleKey.Text() + " use it for a role",
		Preview:  m.preview,
		OnChoose: m.choose, OnCancel: m.cancel, OnChip: m.setScope, OnKey: m.press,
	})
	return m
}

func (m *Models) chips() []string {
	return []string{fmt.Sprintf("usable %d", len(m.ready)), fmt.Sprintf("all %d", len(m.byRef)), "by role"}
}

func (m *Models) empty() string {
	if m.scope == scopeRoles {
		return "No roles set. Choose a model with Tab, then press " + roleKey.Text() + "."
	}
	return "No usable model yet. Tab shows all models; choose one to log in or enter a key."
}

// items lists the models of the scope, usable ones first.
func (m *Models) items() []list.Item {
	if m.scope == scopeRoles {
		return m.roleItems()
	}
	first := make([]list.Item, 0, len(m.o.Models))
	var rest []list.Item
	for _, x := range m.o.Models {
		switch {
		case m.ready[x.Ref()]:
			first = append(first, m.item(x))
		case m.scope == scopeAll:
			rest = append(rest, m.item(x))
		}
	}
	return append(first, rest...)
}

func (m *Models) item(x *catalog.Model) list.Item {
	ref := x.Ref()
	it := list.Item{ID: ref, Label: x.ID, Group: x.Provider, Detail: brief(x), Search: ref + " " + x.Name}
	if !m.ready[ref] {
		it.Dim, it.Detail = true, it.Detail+fmt.Sprintf("  %-6s", missing(x))
	}
	if extra := strings.Join(append(marks(x), m.rolesOf(ref)...), " "); extra != "" {
		it.Detail += "  " + extra
	}
	if ref == m.o.Current {
		it.Mark = m.env.Styles.Symbols().Done
	}
	return it
}

// roleItems has a row for each model that has a role, under the role's name.
func (m *Models) roleItems() []list.Item {
	var items []list.Item
	seen := map[string]bool{}
	for _, r := range m.o.Roles {
		if x := m.byRef[r.Ref]; x != nil && !seen[r.Ref] {
			seen[r.Ref] = true
			items = append(items, m.item(x))
		}
	}
	return items
}

func (m *Models) rolesOf(ref string) []string {
	var names []string
	for _, r := range m.o.Roles {
		if r.Ref == ref {
			names = append(names, r.Name)
		}
	}
	return names
}

func (m *Models) setScope(i int) {
	m.scope = i
	id := m.list.Selected()
	m.list.SetEmpty(m.empty())
	m.list.SetItems(m.items())
	if !m.list.SetSelected(id) {
		m.list.SetSelected(m.o.Current)
	}
}

func (m *Models) choose(ref string) {
	if m.o.OnChoose != nil {
		m.o.OnChoose(m.byRef[ref], m.ready[ref])
	}
}

func (m *Models) cancel() {
	if m.o.OnCancel != nil {
		m.o.OnCancel()
	}
}

func (m *Models) press(p key.Press, ref string) bool {
	if p.Key != roleKey {
		return false
	}
	if ref != "" && len(m.o.Roles) > 0 {
		m.ask(ref)
	}
	return true
}

// ask puts the question which role the model shall have in the place of the list.
func (m *Models) ask(ref string) {
	items := make([]list.Item, len(m.o.Roles))
	for i, r := range m.o.Roles {
		items[i] = list.Item{ID: r.Name, Label: r.Name, Detail: roleDetail(r)}
		if r.Ref == ref {
			items[i].Mark = m.env.Styles.Symbols().Done
		}
		if r.Fixed != "" {
			items[i].Dim = true
		}
	}
	done := func() { m.role = nil }
	m.role = list.Choice(m.env, list.Options{
		Title: "Use " + ref + " for", Items: items, Hint: clearKey.Text() + " unsets the role",
		OnChoose: func(role string) {
			if m.assign(role, ref) {
				done()
			}
		},
		OnCancel: done,
		OnKey: func(p key.Press, role string) bool {
			if p.Key == clearKey && m.assign(role, "") {
				done()
			}
			return p.Key == clearKey
		},
	})
}

func roleDetail(r Role) string {
	use := map[string]string{
		catalog.RoleDefault: "the main conversation", catalog.RoleSmol: "quick work: titles, summaries", catalog.RoleSlow: "hard problems",
		catalog.RoleVision: "pictures", catalog.RolePlan: "plan mode", catalog.RoleDesigner: "user interfaces",
		catalog.RoleCommit: "commit messages", catalog.RoleTask: "sub-agents",
	}[r.Name]
	switch {
	case r.Fixed != "":
		return r.Ref + ", set by " + r.Fixed
	case r.Ref != "" && use != "":
		return use + "; now " + r.Ref
	case r.Ref != "":
		return "now " + r.Ref
	}
	return use
}

// assign sets a role; false where that would change nothing.
func (m *Models) assign(role, ref string) bool {
	i := slices.IndexFunc(m.o.Roles, func(r Role) bool { return r.Name == role })
	if i < 0 || m.o.Roles[i].Fixed != "" {
		return false
	}
	m.o.Roles = slices.Clone(m.o.Roles)
	m.o.Roles[i].Ref = ref
	m.list.SetItems(m.items())
	if m.o.OnRole != nil {
		m.o.OnRole(role, ref)
	}
	return true
}

// Draw is [pane.Pane]'s.
func (m *Models) Draw(width, height int) ([]string, screen.Cursor) {
	if m.role != nil {
		return m.role.Draw(width, height)
	}
	return m.list.Draw(width, height)
}

// Hover is [pane.Hovered]'s.
func (m *Models) Hover(h key.Hover) bool {
	if m.role != nil {
		return m.role.Hover(h)
	}
	return m.list.Hover(h)
}

// Handle is [pane.Pane]'s.
func (m *Models) Handle(ev key.Event) {
	if m.role != nil {
		m.role.Handle(ev)
		return
	}
	m.list.Handle(ev)
}

// missing says why a model cannot be used.
func missing(x *catalog.Model) string {
	switch {
	case len(x.Needs) > 0:
		return "needs " + strings.Join(x.Needs, ", ")
	case x.Auth == catalog.AuthNone:
		return "off"
	}
	return "no key"
}

// brief is the window and the prices of a model, in columns.
func brief(x *catalog.Model) string {
	price := catalog.RateWords(x.Price.Input, x.Price.Unreliable) + "/" + catalog.RateWords(x.Price.Output, x.Price.Unreliable)
	return fmt.Sprintf("%5s  %-13s", catalog.TokenWords(x.ContextWindow), price)
}

// marks are what a model can do beyond reading and writing.
func marks(x *catalog.Model) []string {
	var out []string
	if x.Thinking.Mode != llm.ThinkingNone {
		out = append(out, "thinks")
	}
	if x.Accepts(llm.ModalityImage) {
		out = append(out, "sees")
	}
	return out
}
