package session_test

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/tool/change"
	"github.com/burin-dev/burin/tool/permit"
	"github.com/burin-dev/burin/tool/todo"
	"github.com/burin-dev/burin/transcript"
)

const typesHead = "// What happens in a session, as docs/events.md has it. Made of the table in session/event_json.go,\n" +
	"// version %d: change it there, and run its tests with BURIN_UPDATE=1.\n\n" +
	"import type { Message, Usage } from \"./messages.js\";\n"

// The TypeScript client's types of events are made of the same table as docs/events.md.
func TestEventTypes(t *testing.T) {
	const file = "../clients/typescript/src/events.ts"
	want := eventTypes()
	if os.Getenv("BURIN_UPDATE") != "" {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not as the table has it; run with BURIN_UPDATE=1 (-want +got):\n%s", file, diff)
	}
}

func eventTypes() string {
	w := &typeWriter{seen: map[reflect.Type]bool{}}
	var names []string
	for _, s := range session.Shapes() {
		name := camel(string(s.Type)) + "Event"
		names = append(names, name)
		fmt.Fprintf(&w.b, "\n/** %s */\nexport interface %s extends EventHead {\n  type: %q;\n", s.About, name, s.Type)
		if s.Payload != nil {
			w.fields(reflect.TypeOf(s.Payload))
		}
		w.b.WriteString("}\n")
	}
	for _, t := range []reflect.Type{ // what methods take and give besides
		reflect.TypeFor[session.Facts](), reflect.TypeFor[session.Policy](), reflect.TypeFor[session.Queued](), reflect.TypeFor[session.Console](), reflect.TypeFor[session.Input](), reflect.TypeFor[session.Receipt](), reflect.TypeFor[session.Cursor](),
		reflect.TypeFor[session.CommandResult](), reflect.TypeFor[session.Breakdown](), reflect.TypeFor[session.PolicyChange](),
		reflect.TypeFor[session.Navigation](), reflect.TypeFor[session.PlanApproval](), reflect.TypeFor[session.ToolState](), reflect.TypeFor[session.Job](), reflect.TypeFor[session.LanguageServer](), reflect.TypeFor[session.Agent](), reflect.TypeFor[session.SharedTask](), reflect.TypeFor[session.Reply](),
		reflect.TypeFor[todo.Phase](), reflect.TypeFor[permit.Tried](), reflect.TypeFor[change.Turn](), reflect.TypeFor[change.Planned](), reflect.TypeFor[change.Diff](),
		reflect.TypeFor[change.Undone](), reflect.TypeFor[transcript.Node](),
	} {
		w.typ(t)
	}
	events := w.b.String()
	w.b.Reset()
	for len(w.queue) > 0 {
		t := w.queue[0]
		w.queue = w.queue[1:]
		fmt.Fprintf(&w.b, "\nexport interface %s {\n", typeName(t))
		w.fields(t)
		w.b.WriteString("}\n")
	}
	return fmt.Sprintf(typesHead, session.EventVersion) +
		"\n/** The version of the events. It grows when a program that read the one before could misread one. */\n" +
		fmt.Sprintf("export const eventVersion = %d;\n", session.EventVersion) +
		"\n/** What all events have. */\nexport interface EventHead {\n  /** Counts from 1 in the life of the process that owns the session. */\n  seq?: number;\n" +
		"  /** An entry of the session file. */\n  entryId?: string;\n  /** The message that began what happens, by the id of its receipt. */\n  turn?: string;\n  text?: string;\n}\n" +
		"\nexport type Event =\n  | " + strings.Join(names, "\n  | ") + ";\n" + events + w.b.String()
}

// typeWriter writes Go types as TypeScript.
type typeWriter struct {
	b     strings.Builder
	queue []reflect.Type // that are named, and not written yet
	seen  map[reflect.Type]bool
}

func (w *typeWriter) fields(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			w.fields(f.Type)
		case name == "-" || !f.IsExported():
		default:
			if name == "" {
				name = f.Name
			}
			if strings.Contains(options, "omit") {
				name += "?"
			}
			fmt.Fprintf(&w.b, "  %s: %s;\n", name, w.typ(f.Type))
		}
	}
}

func (w *typeWriter) typ(t reflect.Type) string {
	switch t {
	case reflect.TypeFor[time.Time]():
		return "string"
	case reflect.TypeFor[json.RawMessage](), reflect.TypeFor[llm.Model]():
		return "unknown"
	case reflect.TypeFor[llm.Message]():
		return "Message"
	case reflect.TypeFor[llm.Usage]():
		return "Usage"
	case reflect.TypeFor[llm.USD]():
		return "number"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return w.typ(t.Elem())
	case reflect.Slice:
		return w.typ(t.Elem()) + "[]"
	case reflect.Map:
		return "Record<string, " + w.typ(t.Elem()) + ">"
	case reflect.Struct:
		if !w.seen[t] {
			w.seen[t] = true
			w.queue = append(w.queue, t)
		}
		return typeName(t)
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Interface:
		return "unknown"
	}
	return "number"
}

// typeName is the name of a struct. Those of permission say so, since a question is
// something else there.
func typeName(t reflect.Type) string {
	name := strings.TrimSuffix(t.Name(), "JSON")
	for suffix, of := range map[string]string{"/permit": "permission ", "/change": "change ", "/transcript": "transcript "} {
		if strings.HasSuffix(t.PkgPath(), suffix) {
			name = of + name
		}
	}
	return camel(name)
}

// camel writes snake_case and several words as one name.
func camel(name string) string {
	var b strings.Builder
	for _, word := range strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == ' ' }) {
		b.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return b.String()
}
