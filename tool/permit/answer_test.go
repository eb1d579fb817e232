package permit_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/burin-dev/burin/internal/prose"
	"github.com/burin-dev/burin/tool/permit"
)

func TestLabel(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	in30 := now.AddDate(0, 0, 30)
	for _, tt := range []struct {
		words   string
		scope   permit.Scope
		expires time.Time
		want    string
	}{
		{"all `go test` commands", permit.Session, in30, "Allow all `go test` commands in this session"},
		{"all `go test` commands", permit.Project, time.Time{}, "Always allow all `go test` commands in this project"},
		{"all `go test` commands", permit.User, in30, "Allow all `go test` commands in all projects for 30 days"},
		{"`make`", permit.Project, now.Add(time.Hour), "Allow `make` in this project for 1 day"},
		{"`make`", permit.Project, now.Add(47 * time.Hour), "Allow `make` in this project for 2 days"},
		{"`make`", permit.Project, now.AddDate(90, 0, 0), "Allow `make` in this project for years"},
		{"`a\x1b[31m`\nb", permit.Session, now, "Allow `a␛[31m` b in this session"},
		{strings.Repeat("x", 50), permit.Session, now, "Allow " + strings.Repeat("x", 20) + "…" + strings.Repeat("x", 19) + " in this session"},
	} {
		o := permit.Offer{Words: tt.words, Expires: tt.expires}
		if got := o.Label(tt.scope, now); got != tt.want {
			t.Errorf("%q for %s: %q, want %q", tt.words, tt.scope, got, tt.want)
		}
	}
	for _, s := range []permit.Scope{permit.Session, permit.Project, permit.User} {
		for _, expires := range []time.Time{{}, now.AddDate(0, 0, 999), now.AddDate(900, 0, 0)} {
			o := permit.Offer{Words: strings.Repeat("例え\u202e\x1b", 2000), Expires: expires}
			if got := o.Label(s, now); prose.Width(got) > permit.MaxLabel {
				t.Errorf("%d columns: %s", prose.Width(got), got)
			}
		}
	}
	for _, fixed := range []string{permit.Yes, permit.No, permit.Instead} {
		if len(fixed) > permit.MaxLabel {
			t.Error(fixed)
		}
	}
}

func TestDetails(t *testing.T) {
	o := permit.Offer{
		Rules:    []permit.Rule{{Tool: "bash", Pattern: "go test:*", Words: "allow `go test` with any arguments"}},
		Examples: []string{"go test -v", "go test ./x"},
		Expires:  time.Date(2027, 1, 2, 15, 4, 0, 0, time.UTC),
	}
	danger := permit.Decision{Dangerous: "removes files for good"}
	for _, tt := range []struct {
		got  []permit.Detail
		want string
	}{
		{o.Details(permit.Session, permit.Decision{}), "Holds until burin ends|Rule bash(go test:*)| allow `go test` with any arguments, in this session|Also go test -v| go test ./x"},
		{
			o.Details(permit.Project, danger),
			"Holds until 2 January 2027 (permissions.grantDays) or until you revoke it with burin permissions|Rule bash(go test:*)" +
				"| allow `go test` with any arguments, in this project, until 2 Jan 2027 15:04|Also go test -v| go test ./x|Risk it removes files for good",
		},
		{permit.Answer{Allow: true}.Details(danger), "Effect It runs once. burin asks again next time.|Risk it removes files for good"},
		{permit.Answer{}.Details(danger), "Effect It does not run. The model is told and continues."},
	} {
		var lines []string
		for _, d := range tt.got {
			lines = append(lines, d.Name+" "+d.Text)
		}
		if diff := cmp.Diff(strings.Split(tt.want, "|"), lines); diff != "" {
			t.Error(diff)
		}
	}
}
