package session_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/agent"
	"github.com/burin-dev/burin/llm"
	"github.com/burin-dev/burin/session"
	"github.com/burin-dev/burin/session/handletest"
	"github.com/burin-dev/burin/tool"
)

// declared are the tools of a request, each as bytes of the wire.
func (r *rig) declared(request int) (list []string) {
	r.t.Helper()
	body := cacheMark.ReplaceAll(r.srv.Raw()[request].Body, nil)
	var fields struct{ Tools []json.RawMessage }
	if err := json.Unmarshal(body, &fields); err != nil {
		r.t.Fatal(err)
	}
	for _, d := range fields.Tools {
		list = append(list, string(d))
	}
	return list
}

// A tool that is added while a prompt runs is there with the next request, behind the
// others. One that is removed stays declared to the byte, and says that it is gone.
func TestToolsComeAndGo(t *testing.T) {
	eachFormat(t, func(t *testing.T, f format) {
		var r *rig
		install := simple("install", tool.Executes, func(context.Context, tool.Call, string) (*tool.Result, error) {
			return tool.Text("installed"), r.Tools().Put(echo("dig", tool.Reads))
		})
		r = start(t, f, func(_ *rig, o *session.Options) { o.Tools = []*tool.Tool{echo("read", tool.Reads), install} },
			calls(`c1 install {"path":"dig"}`), calls(`c2 dig {"path":"x"}`), say("ok"), calls(`c3 read {"path":"x"}`), say("well"), say("other"))
		r.prompt("go", agent.ReasonDone)
		if err := r.Tools().Remove("read"); err != nil {
			t.Fatal(err)
		}
		r.prompt("read it", agent.ReasonDone)
		got := said(r.Messages())
		if got[4] != "toolResult: dig x" || got[8] != "toolResult: Error: the tool read is not available any more. Do not call it again" {
			t.Errorf("the conversation: %q", got)
		}
		before, added := r.declared(0), r.declared(1)
		if len(before) != 2 || len(added) != 3 || cmp.Diff(before, added[:2]) != "" {
			t.Errorf("an addition: %q became %q", before, added)
		}
		for i := 2; i < 5; i++ {
			if diff := cmp.Diff(added, r.declared(i)); diff != "" {
				t.Errorf("request %d declares:\n%s", i+1, diff)
			}
		}
		var told []string
		for _, e := range r.seen(session.ToolsChanged) {
			told = append(told, e.Text)
		}
		if diff := cmp.Diff([]string{"read, install, dig", "install, dig"}, told); diff != "" {
			t.Error(diff)
		}
		if list, _ := r.Tools().List(t.Context()); len(list) != 2 {
			t.Errorf("there are %+v", list)
		}
		if err := r.Tools().Remove("read"); err == nil || !strings.Contains(err.Error(), "install, dig") {
			t.Errorf("removed twice: %v", err)
		}
		if err := r.Tools().Put(&tool.Tool{Name: "no name"}); err == nil {
			t.Error("a name that no provider takes")
		}
		if err := r.Tools().Put(echo("read", tool.Reads)); err != nil { // it is back, in its place
			t.Fatal(err)
		}
		r.prompt("again", agent.ReasonDone)
		if diff := cmp.Diff(added, r.declared(5)); diff != "" {
			t.Errorf("it is back:\n%s", diff)
		}
		r.clean()
	})
}

// The tools that depend on the model follow it, also where it changes within a prompt, and
// what was removed goes with the model before.
func TestToolsFollowModel(t *testing.T) {
	edit := func(m *llm.Model) *tool.Tool {
		e := echo("edit", tool.Writes)
		e.Description = "It edits for " + m.ID + "."
		return e
	}
	r := start(t, formats()[0], func(r *rig, o *session.Options) {
		o.Models = r.opener(r.f.model, called(r.f.model, "other"))
		o.Tools = []*tool.Tool{edit(&r.f.model), echo("read", tool.Reads), echo("dig", tool.Reads)}
		handletest.On(o).OnAdapt = func(m *llm.Model) []*tool.Tool { return []*tool.Tool{edit(m), echo("spare", tool.Reads)} }
		o.Fallbacks = chain("other")
	}, say("1"), refused(llm.ErrAuth, "no"), calls(`c1 edit {"path":"x"}`), say("2"), say("3"))
	names := func(i int) (out []string) {
		for _, d := range r.srv.Requests()[i].Tools {
			if out = append(out, d.Name); d.Name == "edit" {
				out = append(out, d.Description)
			}
		}
		return out
	}
	id := r.f.model.ID
	r.prompt("go", agent.ReasonDone)
	if err := r.Tools().Remove("dig"); err != nil {
		t.Fatal(err)
	}
	r.prompt("on", agent.ReasonDone)
	if err := r.SetModel(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	r.prompt("back", agent.ReasonDone)
	want := [][]string{
		{"edit", "It edits for " + id + ".", "read", "dig"},
		{"edit", "It edits for " + id + ".", "read", "dig"},
		{"edit", "It edits for other.", "read"},
		{"edit", "It edits for other.", "read"},
		{"edit", "It edits for " + id + ".", "read"},
	}
	var got [][]string
	for i := range r.srv.Requests() {
		got = append(got, names(i))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
