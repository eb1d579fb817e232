package server

import (
	"cmp"
	_ "embed" // the style
	"fmt"
	"html"
	"strings"

	"github.com/burin-dev/burin/internal/chat/oidc"
	"github.com/burin-dev/burin/internal/chat/people"
	"github.com/burin-dev/burin/session/remote"
)

//go:embed pages/style.css
var pageStyle string

// view is what a page shows.
type view struct {
	title, done   string
	section       string // of the account, in which something is wrong
	wrong         []people.InputError
	name, display string // as they were typed
	secret        string
	role          people.Role
	me            Me
	devices       []people.Device
	passkeys      []people.Passkey
	linked        []people.Identity
	providers     []*oidc.Provider
	link          string // that leads on
	party         string // the name of the server, for passkeys; "" is that there is none
	tokens        []people.Token
	token         string // that was made
	codes         []string
	recovery      string // the recovery key that was made
	locks         bool   // the keys of who chooses a password need the old one
	enrollment    people.Enrollment
}

// wrongs are what is wrong in a section.
func (v view) wrongs(section string) []people.InputError {
	if v.section != section {
		return nil
	}
	return v.wrong
}

// markup is a page as it is written. html/template would keep the linker from leaving out
// what nothing calls, which is a tenth of the program.
type markup struct {
	strings.Builder
	german bool // the language of the page; else it is English
}

// raw is markup already; all else is text.
type raw string

// put writes text into markup, in an element or between the quotes of an attribute.
func (m *markup) put(format string, args ...any) {
	for i, a := range args {
		if r, ok := a.(raw); ok {
			args[i] = string(r)
		} else {
			args[i] = html.EscapeString(fmt.Sprint(a))
		}
	}
	fmt.Fprintf(m, m.sayAll(format), args...)
}

// input is a field of a form.
type input struct {
	id, name    string // id "" is the name
	label, hint string
	value       string
	kind        raw // attributes: of the type and for the browser's help
}

// What browsers are told of fields.
const (
	userField   raw = `autocomplete="username webauthn" autocapitalize="none" autocorrect="off" spellcheck="false" required maxlength="64"`
	oldPassword raw = `type="password" autocomplete="current-password" required maxlength="1024"`
	newPassword raw = `type="password" autocomplete="new-password" required minlength="10" maxlength="1024"`
	nameField   raw = `autocomplete="name" maxlength="80"`
	codeField   raw = `autocomplete="one-time-code" autocapitalize="characters" spellcheck="false" required maxlength="40"`
)

const choose = "at least 10 characters"

// field writes a field. wrong is what is wrong in its form; the first field that it names gets
// the focus, and without any the one that wants it.
func (m *markup) field(wrong []people.InputError, focus bool, f input) {
	var marks raw
	for i, e := range wrong {
		if e.Field == f.name {
			marks = ` aria-invalid="true" aria-describedby="wrong"`
			focus = i == 0
			break
		}
	}
	if focus && (marks != "" || len(wrong) == 0) {
		marks += " autofocus"
	}
	id := cmp.Or(f.id, f.name)
	m.put(`<label for="%s">%s`, id, m.say(f.label))
	if f.hint != "" {
		m.put(` <span class="hint">%s</span>`, m.say(f.hint))
	}
	m.put("</label>\n<input id=\"%s\" name=\"%s\" %s value=\"%s\"%s>\n", id, f.name, f.kind, f.value, marks)
}

// wrongs says what is wrong.
func (m *markup) wrongs(all []people.InputError) {
	if len(all) == 0 {
		return
	}
	m.put(`<div class="wrong" id="wrong" role="alert">`)
	for _, e := range all {
		wrong := m.wrong(e.Wrong)
		m.put("<p>%s.</p>", strings.ToUpper(wrong[:1])+wrong[1:])
	}
	m.put("</div>\n")
}

func (m *markup) head(v view) {
	before := ""
	if len(v.wrong) > 0 {
		before = m.say("Error: ")
	}
	m.put(`<!doctype html>
<html lang="%s">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<link rel="icon" href="data:,">
<title>%s%s · burin</title>
<style>%s</style>
%s</head>
<body>
`, map[bool]string{true: "de", false: "en"}[m.german], before, m.say(v.title), raw(pageStyle), map[bool]raw{true: `<script src="` + passkeyPath + `" defer></script>` + "\n"}[v.party != ""])
}

const mark raw = `<p class="mark"><svg viewBox="0 0 24 24" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round"><path d="M3 21l4.5-1.2L20 7.3 16.7 4 4.2 16.5z"/><path d="M14 6.7L17.3 10"/><path d="M11 21h10"/></svg>burin</p>
`

// small begins a page with one thing on it.
func (m *markup) small(v view) {
	m.head(v)
	m.put("<main class=\"small\">%s<h1>%s</h1>\n", mark, m.say(v.title))
}

func (m *markup) said(done string) {
	if done != "" {
		m.put("<div class=\"done\" role=\"status\"><p>%s</p></div>\n", m.say(done))
	}
}

const pageEnd raw = "</main>\n</body>\n</html>\n"

func signInMarkup(m *markup, v view) {
	m.small(v)
	m.put("<p class=\"soft\">Sign in to this server.</p>\n")
	m.said(v.done)
	m.wrongs(v.wrong)
	m.put("<form method=\"post\" action=\"/signin\" class=\"card\">\n")
	m.field(v.wrong, true, input{name: "name", label: "Name", value: v.name, kind: userField})
	m.field(nil, len(v.wrong) > 0, input{name: "password", label: "Password", kind: oldPassword})
	m.put("<button>Sign in</button>\n</form>\n")
	m.passkeyButton(v)
	m.providerLinks(v)
	m.put(`<p class="soft">No password, or forgotten? On the machine of the server, <code>burin admin link</code> prints a link that signs you in. Elsewhere, ask an admin.</p>
%s`, pageEnd)
}

func codeMarkup(m *markup, v view) {
	m.small(v)
	m.put("<p class=\"soft\">Your account has a second factor.</p>\n")
	m.wrongs(v.wrong)
	m.put("<form method=\"post\" action=\"/signin/code\" class=\"card\">\n<input type=\"hidden\" name=\"ticket\" value=\"%s\">\n", v.secret)
	m.field(v.wrong, true, input{name: "code", label: "Code", hint: "from your app, or a recovery code", kind: codeField})
	m.put("<button>Continue</button>\n</form>\n<p><a href=\"/signin\">Start over</a></p>\n%s", pageEnd)
}

func openMarkup(m *markup, v view) {
	m.small(v)
	m.put(`<p class="soft">This link works once, and signs this browser in without a password. Use it on a device of yours only.</p>
<form method="post"><button autofocus>Sign in here</button></form>
%s`, pageEnd)
}

// goneMarkup is for what doesn't work.
func goneMarkup(m *markup, v view) {
	m.small(v)
	m.wrongs(v.wrong)
	m.put("<p><a href=\"/signin\">Sign in with a password</a></p>\n%s", pageEnd)
}

func joinMarkup(m *markup, v view) {
	m.small(v)
	m.put("<p class=\"soft\">You are invited as %s. Choose how you sign in from now on.</p>\n", m.say(string(v.role)))
	m.wrongs(v.wrong)
	m.put("<form method=\"post\" class=\"card\">\n")
	m.field(v.wrong, true, input{name: "name", label: "Name", hint: "to sign in with: letters, digits and . _ - @ +", value: v.name, kind: userField})
	m.field(v.wrong, false, input{name: "display", label: "Display name", hint: "what others see; may stay empty", value: v.display, kind: nameField})
	m.field(v.wrong, false, input{name: "password", label: "Password", hint: choose, kind: newPassword})
	m.put("<button>Create the account</button>\n</form>\n%s", pageEnd)
}

func resetMarkup(m *markup, v view) {
	m.small(v)
	m.put("<p class=\"soft\">For <strong>%s</strong>. All devices are signed out then.</p>\n", v.name)
	if v.locks {
		m.put("<p class=\"soft\">Your data is locked with the old password, and the new one doesn't open it. After signing in, unlock it with the old password or the recovery key.</p>\n")
	}
	m.wrongs(v.wrong)
	m.put("<form method=\"post\" class=\"card\">\n%s", hiddenName(v.name))
	m.field(v.wrong, true, input{name: "password", label: "New password", hint: choose, kind: newPassword})
	m.put("<button>Save</button>\n</form>\n%s", pageEnd)
}

// hiddenName tells password managers whose password it is.
func hiddenName(name string) raw {
	return raw(`<input type="text" name="name" value="` + html.EscapeString(name) + `" autocomplete="username" hidden readonly>` + "\n")
}

// section writes a part of the account.
func (m *markup) section(id, title, about string, rest func()) {
	m.put("<section aria-labelledby=\"h-%s\"><h2 id=\"h-%s\">%s</h2>\n", id, id, m.say(title))
	if about != "" {
		m.put("<p class=\"soft\">%s</p>\n", m.say(about))
	}
	rest()
	m.put("</section>\n")
}

// form writes a form of the account.
func (m *markup) form(what string, rest func()) {
	m.put("<form method=\"post\" action=\"/account/%s\">\n", what)
	rest()
	m.put("</form>\n")
}

// confirm asks for the password again, where there is one.
func (m *markup) confirm(v view, section string) {
	if v.me.Password {
		m.put("%s", hiddenName(v.me.Name))
		m.field(v.wrongs(section), false, input{id: section + "-password", name: "password", label: "Password", kind: oldPassword})
	}
}

func accountMarkup(m *markup, v view) {
	m.head(v)
	m.put("<main>%s<div class=\"top\"><div><h1>%s</h1><p class=\"soft\">%s · %s</p></div>\n", mark, v.me.Display, v.me.Name, m.say(string(v.me.Role)))
	m.put("<form method=\"post\" action=\"/signout\"><button class=\"plain\">Sign out</button></form></div>\n")
	m.said(v.done)
	m.shownOnce(v)
	m.section("profile", "Profile", "", func() {
		m.wrongs(v.wrongs("profile"))
		m.form("profile", func() {
			m.field(v.wrongs("profile"), false, input{name: "display", label: "Display name", hint: "what others see", value: v.display, kind: nameField})
			m.put(`<button class="plain">Save</button>`)
		})
	})
	about, button := "There is none yet: you sign in with links.", "Set a password"
	if v.me.Password {
		about, button = "A change signs out all other devices.", "Change the password"
	}
	m.section("password", "Password", about, func() {
		wrong := v.wrongs("password")
		m.wrongs(wrong)
		m.form("password", func() {
			m.put("%s", hiddenName(v.me.Name))
			if v.me.Password {
				m.field(wrong, false, input{name: "old", label: "Current password", kind: oldPassword})
			}
			m.field(wrong, false, input{id: "new", name: "password", label: "New password", hint: choose, kind: newPassword})
			m.put(`<button class="plain">%s</button>`, m.say(button))
		})
	})
	m.passkeySection(v)
	m.linkedSection(v)
	m.factorSection(v)
	m.keySection(v)
	m.section("devices", "Devices", "Browsers in which you are signed in.", func() {
		m.wrongs(v.wrongs("signout"))
		m.put("<ul class=\"rows\">\n")
		for _, d := range v.devices {
			m.device(d)
		}
		m.put("</ul>\n")
	})
	m.section("browser", "This browser", "If the app doesn't start or shows something old, remove what it keeps here: chats to read without a connection, drafts of new chats, and its looks. You stay signed in.", func() {
		m.form("browser", func() { m.put(`<button class="plain">Remove it</button>`) })
	})
	m.tokenSection(v)
	m.section("data", "Your data", "All that is kept of this account: projects, files, chats and the account itself, as a ZIP archive.", func() {
		m.wrongs(v.wrongs("export"))
		m.form("export", func() { m.put(`<button class="plain">Download</button>`) })
		if v.me.ID != people.OwnerID {
			m.wrongs(v.wrongs("delete"))
			m.details("Delete the account", len(v.wrongs("delete")) > 0, func() {
				m.form("delete", func() {
					m.put("<p>It can't be undone.</p>\n")
					m.confirm(v, "delete")
					m.put(`<button class="danger">Delete the account</button>`)
				})
			})
		}
	})
	m.put("%s", pageEnd)
}

// details writes what is shown when somebody wants it.
func (m *markup) details(summary string, open bool, rest func()) {
	m.put("<details%s><summary>%s</summary>\n", map[bool]raw{true: " open"}[open], m.say(summary))
	rest()
	m.put("</details>\n")
}

// shownOnce writes what was made just now.
func (m *markup) shownOnce(v view) {
	if v.token != "" {
		m.section("new", "Your new token", "", func() {
			m.put("<p>Keep it now: it is not shown again.</p>\n<p class=\"secret\" tabindex=\"0\">%s</p>\n", v.token)
		})
	}
	if v.recovery != "" {
		m.section("recovery", "Your recovery key", "", func() {
			m.put("<p>It opens your data if you lose the password. Without both, nobody reads it again. Keep it where you keep your passwords: it is not shown again.</p>\n<p class=\"secret\" tabindex=\"0\">%s</p>\n", v.recovery)
		})
	}
	if v.codes != nil {
		m.section("codes", "Your recovery codes", "", func() {
			m.put("<p>Each of them signs you in once when your app isn't at hand. Keep them where you keep your passwords: they are not shown again.</p>\n<ol class=\"codes\" tabindex=\"0\">")
			for _, c := range v.codes {
				m.put("<li>%s</li>", c)
			}
			m.put("</ol>\n")
		})
	}
	if v.enrollment.Secret != "" {
		m.section("enroll", "Add the second factor", "", func() {
			m.put("<p>Type this key into an app for codes, or <a href=\"%s\">open it in one</a> on this device.</p>\n<p class=\"secret\" tabindex=\"0\">%s</p>\n", v.enrollment.URI, inFours(v.enrollment.Secret))
			m.wrongs(v.wrongs("confirm"))
			m.form("confirm", func() {
				m.field(v.wrongs("confirm"), true, input{name: "code", label: "Code that the app shows", kind: `inputmode="numeric" autocomplete="one-time-code" required maxlength="10"`})
				m.put("<button>Turn on</button>")
			})
		})
	}
}

// inFours puts spaces into what is to be typed.
func inFours(s string) string {
	var b strings.Builder
	for i, c := range s {
		if i > 0 && i%4 == 0 {
			b.WriteByte(' ')
		}
		b.WriteRune(c)
	}
	return b.String()
}

func (m *markup) factorSection(v view) {
	about := "A code of an app on your phone, besides the password."
	if v.me.SecondFactor {
		about = fmt.Sprintf(m.say("On: a code of your app is asked for when you sign in. %s left."), m.count(v.me.RecoveryCodes, "recovery code"))
	}
	m.section("factor", "Second factor", about, func() {
		m.wrongs(v.wrongs("factor"))
		if v.me.SecondFactor {
			m.form("codes", func() {
				m.confirm(v, "factor")
				m.put("<div class=\"buttons\"><button class=\"plain\">New recovery codes</button>\n<button class=\"danger\" formaction=\"/account/unfactor\">Turn off</button></div>")
			})
			return
		}
		m.form("factor", func() {
			m.confirm(v, "factor")
			m.put(`<button class="plain">Set up</button>`)
		})
	})
}

func (m *markup) device(d people.Device) {
	m.put("<li><div>%s<small>", d.Name)
	if d.Current {
		m.put(`<span class="here">this one</span>`)
	} else {
		m.put("seen %s", m.ago(d.Seen))
	}
	m.put(" · since %s", m.ago(d.Created))
	if d.Address != "" {
		m.put(" · %s", d.Address)
	}
	m.put("</small></div>\n")
	if !d.Current {
		m.put(`<form method="post" action="/account/signout"><input type="hidden" name="device" value="%s"><button class="plain" aria-label="Sign out %s">Sign out</button></form>`, d.ID, d.Name)
	}
	m.put("</li>\n")
}

func (m *markup) tokenSection(v view) {
	m.section("tokens", "Tokens", "For programs: each does no more than its rights allow.", func() {
		if len(v.tokens) > 0 {
			m.put("<ul class=\"rows\">\n")
		}
		for _, t := range v.tokens {
			m.put("<li><div>%s<small>%s · %s", t.Name, t.Rights, m.used(t.Used))
			if !t.Expires.IsZero() {
				m.put(" · until %s", day(t.Expires))
			}
			m.put("</small></div>\n")
			m.put("<form method=\"post\" action=\"/account/untoken\"><input type=\"hidden\" name=\"token\" value=\"%s\"><button class=\"plain\" aria-label=\"Remove %s\">Remove</button></form></li>\n", t.Name, t.Name)
		}
		if len(v.tokens) > 0 {
			m.put("</ul>\n")
		}
		wrong := v.wrongs("token")
		m.wrongs(append(wrong, v.wrongs("untoken")...))
		m.details("New token", len(wrong) > 0, func() {
			m.form("token", func() {
				m.field(wrong, false, input{id: "token", name: "name", label: "Name", kind: `autocomplete="off" required maxlength="64"`})
				m.put("<div class=\"pair\"><div><label for=\"rights\">Rights</label>\n<select id=\"rights\" name=\"rights\">")
				for _, right := range []remote.Rights{remote.Watch, remote.Steer, remote.Answer, remote.Own} {
					if v.me.Role.Most().Include(right) {
						m.put("<option>%s</option>", right)
					}
				}
				m.put("</select></div>\n<div>")
				m.field(wrong, false, input{name: "days", label: "Days", hint: "0 is until removed", value: "90", kind: `type="number" min="0" max="3650"`})
				m.put(`</div></div><button class="plain">Make a token</button>`)
			})
		})
	})
}
