package server

import "github.com/burin-dev/burin/internal/chat/vault"

// keySection shows who opens the keys of an account.
func (m *markup) keySection(v view) {
	wrong := v.wrongs("keys")
	switch {
	case v.me.Keys.Mode == vault.Server:
		m.section("keys", "Your keys", "What you write is encrypted. The server opens it at any time, unless you lock it with your password: then only while you are signed in.", func() {
			m.wrongs(wrong)
			if !v.me.Password {
				m.put("<p class=\"soft\">Set a password first.</p>\n")
				return
			}
			m.details("Lock my data with my password", len(wrong) > 0, func() {
				m.form("own", func() {
					m.put("<p>You get a recovery key. If you lose both, nobody reads your data again, and no admin can help.</p>\n")
					m.confirm(v, "keys")
					m.put(`<button class="plain">Lock with the password</button>`)
				})
			})
		})
	case v.me.Keys.Open:
		m.section("keys", "Your keys", "Locked with your password, and open on this server until you sign out everywhere, or don't use it for 12 hours.", func() {
			m.wrongs(wrong)
			m.form("lock", func() { m.put(`<button class="plain">Lock now</button>`) })
			m.details("Have the server open them", len(wrong) > 0, func() {
				m.form("unown", func() {
					m.put("<p>The server, and who has its key, can read your data at any time then.</p>\n")
					m.confirm(v, "keys")
					m.put(`<button class="plain">Unlock for good</button>`)
				})
			})
		})
	default:
		m.section("keys", "Your keys", "Your data is locked. Turns that were interrupted wait for you.", func() {
			m.wrongs(wrong)
			m.form("unlock", func() {
				m.put("%s", hiddenName(v.me.Name))
				m.field(wrong, false, input{id: "keys-password", name: "password", label: "Password", kind: oldPassword})
				m.details("The password was reset", false, func() {
					m.put("<p>Give the password that the keys were locked with, or the recovery key.</p>\n")
					m.field(wrong, false, input{id: "keys-old", name: "old", label: "Old password", kind: `type="password" autocomplete="off" maxlength="1024"`})
					m.field(wrong, false, input{name: "recovery", label: "Recovery key", kind: `autocomplete="off" spellcheck="false" maxlength="60"`})
				})
				m.put(`<button class="plain">Unlock</button>`)
			})
		})
	}
}
