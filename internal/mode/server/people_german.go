package server

// inGerman gives a text of the pages in German; "": it has none. It is a switch because a map would
// be made whenever burin starts.
func inGerman(text string) string {
	switch text {
	// What comes on several pages.
	case "Name":
		return "Name"
	case "Password":
		return "Passwort"
	case "New password":
		return "Neues Passwort"
	case "Display name":
		return "Anzeigename"
	case "Continue":
		return "Weiter"
	case "Save":
		return "Speichern"
	case "Remove":
		return "Entfernen"
	case "Remove %s":
		return "%s entfernen"
	case "Error: ":
		return "Fehler: "
	case choose:
		return "mindestens 10 Zeichen"
	case "admin":
		return "Admin"
	case "member":
		return "Mitglied"
	case "viewer":
		return "Leser"

	// Times and numbers.
	case "just now":
		return "gerade eben"
	case "%s ago":
		return "vor %s"
	case "minute":
		return "Minute"
	case "minutes":
		return "Minuten"
	case "hour":
		return "Stunde"
	case "hours":
		return "Stunden"
	case "day":
		return "Tag"
	case "days":
		return "Tagen" // only ever "vor … Tagen"
	case "recovery code":
		return "Wiederherstellungscode"
	case "recovery codes":
		return "Wiederherstellungscodes"
	case "never used":
		return "nie benutzt"
	case "used %s":
		return "%s benutzt"
	case "seen %s":
		return "%s gesehen"
	case "· since %s":
		return "· seit: %s"
	case "%s · since %s":
		return "%s · seit: %s"
	case "· until %s":
		return "· bis %s"
	case "· for %s":
		return "· für %s"

	// Signing in.
	case "Welcome back":
		return "Willkommen zurück"
	case "Sign in to this server.":
		return "Melde dich an diesem Server an."
	case "Sign in":
		return "Anmelden"
	case "Sign in with a passkey":
		return "Mit einem Passkey anmelden"
	case "Sign in with %s":
		return "Mit %s anmelden"
	case "No password, or forgotten? On the machine of the server,":
		return "Kein Passwort, oder vergessen? Auf dem Rechner des Servers gibt"
	case "prints a link that signs you in. Elsewhere, ask an admin.":
		return "einen Link aus, der dich anmeldet. Sonst frage einen Admin."
	case "One more step":
		return "Noch ein Schritt"
	case "Your account has a second factor.":
		return "Dein Konto hat einen zweiten Faktor."
	case "Code":
		return "Code"
	case "from your app, or a recovery code":
		return "aus deiner App, oder ein Wiederherstellungscode"
	case "Start over":
		return "Von vorn beginnen"
	case "Sign in to burin":
		return "Bei burin anmelden"
	case "This link works once, and signs this browser in without a password. Use it on a device of yours only.":
		return "Dieser Link gilt einmal und meldet diesen Browser ohne Passwort an. Nutze ihn nur auf einem eigenen Gerät."
	case "Sign in here":
		return "Hier anmelden"
	case "Sign in with a password":
		return "Mit einem Passwort anmelden"
	case "This link doesn't work":
		return "Dieser Link gilt nicht"
	case "This invitation doesn't work":
		return "Diese Einladung gilt nicht"
	case "The keys can't be opened now":
		return "Die Schlüssel lassen sich jetzt nicht öffnen"
	case "This can't be shown now":
		return "Das lässt sich jetzt nicht zeigen"
	case "Go on at the other site":
		return "Weiter auf der anderen Seite"
	case "You come back here when you have signed in there.":
		return "Wenn du dich dort angemeldet hast, kommst du hierher zurück."

	// Joining and a new password.
	case "Welcome to burin":
		return "Willkommen bei burin"
	case "You are invited as %s. Choose how you sign in from now on.":
		return "Du bist als %s eingeladen. Wähle, wie du dich von nun an anmeldest."
	case "to sign in with: letters, digits and . _ - @ +":
		return "zum Anmelden: Buchstaben, Ziffern und . _ - @ +"
	case "what others see; may stay empty":
		return "was andere sehen; darf leer bleiben"
	case "Create the account":
		return "Konto anlegen"
	case "Choose a new password":
		return "Wähle ein neues Passwort"
	case "For":
		return "Für"
	case ". All devices are signed out then.":
		return ". Alle Geräte werden dann abgemeldet."
	case "Your data is locked with the old password, and the new one doesn't open it. After signing in, unlock it with the old password or the recovery key.":
		return "Deine Daten sind mit dem alten Passwort gesperrt, und das neue öffnet sie nicht. Entsperre sie nach dem Anmelden mit dem alten Passwort oder dem Wiederherstellungsschlüssel."

	// The account.
	case "Your account":
		return "Dein Konto"
	case "Sign out":
		return "Abmelden"
	case "Sign out %s":
		return "%s abmelden"
	case "Profile":
		return "Profil"
	case "what others see":
		return "was andere sehen"
	case "There is none yet: you sign in with links.":
		return "Noch gibt es keins: Du meldest dich mit Links an."
	case "Set a password":
		return "Passwort setzen"
	case "A change signs out all other devices.":
		return "Eine Änderung meldet alle anderen Geräte ab."
	case "Change the password":
		return "Passwort ändern"
	case "Current password":
		return "Jetziges Passwort"
	case "Devices":
		return "Geräte"
	case "Browsers in which you are signed in.":
		return "Browser, in denen du angemeldet bist."
	case "this one":
		return "dieses"
	case "This browser":
		return "Dieser Browser"
	case "If the app doesn't start or shows something old, remove what it keeps here: chats to read without a connection, drafts of new chats, and its looks. You stay signed in.":
		return "Wenn die App nicht startet oder Altes zeigt, entferne, was sie hier aufbewahrt: Chats zum Lesen ohne Verbindung, Entwürfe neuer Chats und ihr Aussehen. Du bleibst angemeldet."
	case "Remove it":
		return "Entfernen"
	case "The app starts afresh in this browser.":
		return "Die App beginnt in diesem Browser neu."
	case "Your data":
		return "Deine Daten"
	case "All that is kept of this account: projects, files, chats and the account itself, as a ZIP archive.":
		return "Alles, was es von diesem Konto gibt: Projekte, Dateien, Chats und das Konto selbst, als ZIP-Archiv."
	case "Download":
		return "Herunterladen"
	case "Delete the account":
		return "Konto löschen"
	case "It can't be undone.":
		return "Das lässt sich nicht rückgängig machen."

	// What is shown once.
	case "Your new token":
		return "Dein neuer Token"
	case "Keep it now: it is not shown again.":
		return "Sichere ihn jetzt: Er wird nicht wieder gezeigt."
	case "Your recovery key":
		return "Dein Wiederherstellungsschlüssel"
	case "It opens your data if you lose the password. Without both, nobody reads it again. Keep it where you keep your passwords: it is not shown again.":
		return "Er öffnet deine Daten, wenn du das Passwort verlierst. Ohne beides liest sie niemand mehr. Bewahre ihn bei deinen Passwörtern auf: Er wird nicht wieder gezeigt."
	case "Your recovery codes":
		return "Deine Wiederherstellungscodes"
	case "Each of them signs you in once when your app isn't at hand. Keep them where you keep your passwords: they are not shown again.":
		return "Jeder meldet dich einmal an, wenn deine App nicht zur Hand ist. Bewahre sie bei deinen Passwörtern auf: Sie werden nicht wieder gezeigt."
	case "Add the second factor":
		return "Zweiten Faktor hinzufügen"
	case "Type this key into an app for codes, or":
		return "Tippe diesen Schlüssel in eine App für Codes, oder"
	case "open it in one":
		return "öffne ihn in einer"
	case "on this device.":
		return "auf diesem Gerät."
	case "Code that the app shows":
		return "Code, den die App zeigt"
	case "Turn on":
		return "Einschalten"

	// The second factor, passkeys and linked accounts.
	case "Second factor":
		return "Zweiter Faktor"
	case "A code of an app on your phone, besides the password.":
		return "Ein Code aus einer App auf deinem Telefon, zusätzlich zum Passwort."
	case "On: a code of your app is asked for when you sign in. %s left.":
		return "An: Beim Anmelden wird ein Code deiner App verlangt. Noch %s."
	case "New recovery codes":
		return "Neue Wiederherstellungscodes"
	case "Turn off":
		return "Ausschalten"
	case "Set up":
		return "Einrichten"
	case "Passkeys":
		return "Passkeys"
	case "Sign in with a finger, a face or the PIN of your device, without a password and a code.":
		return "Melde dich mit dem Finger, dem Gesicht oder der PIN deines Geräts an, ohne Passwort und Code."
	case "To add one, open this server by a name: there are no passkeys for an address such as 127.0.0.1. On the machine of the server,":
		return "Öffne diesen Server mit einem Namen, um einen hinzuzufügen: Für eine Adresse wie 127.0.0.1 gibt es keine Passkeys. Auf dem Rechner des Servers gibt"
	case "prints a link.":
		return "einen Link aus."
	case "To add one, allow this page to run its script, in a browser that knows passkeys.":
		return "Erlaube dieser Seite ihr Skript, um einen hinzuzufügen, in einem Browser, der Passkeys kennt."
	case "New passkey":
		return "Neuer Passkey"
	case "of the device or the password manager; may stay empty":
		return "des Geräts oder der Passwortverwaltung; darf leer bleiben"
	case "Add a passkey":
		return "Passkey hinzufügen"
	case "Linked accounts":
		return "Verknüpfte Konten"
	case "Sign in with an account that you have elsewhere.":
		return "Melde dich mit einem Konto an, das du anderswo hast."
	case "Link an account":
		return "Konto verknüpfen"
	case "Where":
		return "Wo"
	case "Unlink":
		return "Trennen"
	case "Unlink %s":
		return "%s trennen"

	// Keys.
	case "Your keys":
		return "Deine Schlüssel"
	case "What you write is encrypted. The server opens it at any time, unless you lock it with your password: then only while you are signed in.":
		return "Was du schreibst, ist verschlüsselt. Der Server öffnet es jederzeit, außer du sperrst es mit deinem Passwort: dann nur, solange du angemeldet bist."
	case "Set a password first.":
		return "Setze zuerst ein Passwort."
	case "Lock my data with my password":
		return "Meine Daten mit meinem Passwort sperren"
	case "You get a recovery key. If you lose both, nobody reads your data again, and no admin can help.":
		return "Du bekommst einen Wiederherstellungsschlüssel. Verlierst du beides, liest niemand deine Daten mehr, und kein Admin kann helfen."
	case "Lock with the password":
		return "Mit dem Passwort sperren"
	case "Locked with your password, and open on this server until you sign out everywhere, or don't use it for 12 hours.":
		return "Mit deinem Passwort gesperrt, und auf diesem Server offen, bis du dich überall abmeldest oder ihn 12 Stunden nicht nutzt."
	case "Lock now":
		return "Jetzt sperren"
	case "Have the server open them":
		return "Vom Server öffnen lassen"
	case "The server, and who has its key, can read your data at any time then.":
		return "Der Server, und wer seinen Schlüssel hat, kann deine Daten dann jederzeit lesen."
	case "Unlock for good":
		return "Dauerhaft entsperren"
	case "Your data is locked. Turns that were interrupted wait for you.":
		return "Deine Daten sind gesperrt. Unterbrochene Antworten warten auf dich."
	case "The password was reset":
		return "Das Passwort wurde zurückgesetzt"
	case "Give the password that the keys were locked with, or the recovery key.":
		return "Gib das Passwort ein, mit dem die Schlüssel gesperrt wurden, oder den Wiederherstellungsschlüssel."
	case "Old password":
		return "Altes Passwort"
	case "Recovery key":
		return "Wiederherstellungsschlüssel"
	case "Unlock":
		return "Entsperren"

	// Tokens.
	case "Tokens":
		return "Tokens"
	case "For programs: each does no more than its rights allow.":
		return "Für Programme: Jeder tut nicht mehr, als seine Rechte erlauben."
	case "New token":
		return "Neuer Token"
	case "Rights":
		return "Rechte"
	case "Days":
		return "Tage"
	case "0 is until removed":
		return "0 ist: bis er entfernt wird"
	case "Make a token":
		return "Token anlegen"

	// What was done.
	case "Saved.":
		return "Gespeichert."
	case "The password is changed, and all other devices are signed out.":
		return "Das Passwort ist geändert, und alle anderen Geräte sind abgemeldet."
	case "The device is signed out.":
		return "Das Gerät ist abgemeldet."
	case "The keys are locked.":
		return "Die Schlüssel sind gesperrt."
	case "The keys are open.":
		return "Die Schlüssel sind offen."
	case "The server opens the keys from now on.":
		return "Der Server öffnet die Schlüssel von nun an."
	case "The token is removed.":
		return "Der Token ist entfernt."
	case "The passkey is added.":
		return "Der Passkey ist hinzugefügt."
	case "The passkey is removed.":
		return "Der Passkey ist entfernt."
	case "The account is linked.":
		return "Das Konto ist verknüpft."
	case "The account is unlinked.":
		return "Das Konto ist getrennt."
	case "The second factor is off.":
		return "Der zweite Faktor ist aus."
	case "The password is changed. Sign in with it.":
		return "Das Passwort ist geändert. Melde dich damit an."
	case "The account is deleted.":
		return "Das Konto ist gelöscht."
	}
	return ""
}

// germanWrong gives what is wrong in German, with what is put into it; "": it has none.
func germanWrong(text string) string {
	for _, one := range [...][2]string{
		{"the name or the password is wrong", "der Name oder das Passwort ist falsch"},
		{"the password is wrong", "das Passwort ist falsch"},
		{"too many attempts failed: try again in %s", "zu viele Versuche sind fehlgeschlagen: Versuche es in %s wieder"},
		{"too many sign in at the same time: try again in a moment", "zu viele melden sich gleichzeitig an: Versuche es gleich wieder"},
		{"the server can't do this now: burin serve --check says why", "der Server kann das jetzt nicht: burin serve --check sagt, warum"},
		{"the link was used already, has expired, or isn't complete: ask for a new one", "der Link wurde schon benutzt, ist abgelaufen oder unvollständig: Bitte um einen neuen"},
		{"it took too long: sign in again", "es hat zu lange gedauert: Melde dich noch einmal an"},
		{"that took too long, or was done already: sign in again", "das hat zu lange gedauert oder war schon getan: Melde dich noch einmal an"},
		{"it is wrong, or was used: wait for the next one, or use a recovery code", "er ist falsch oder wurde benutzt: Warte auf den nächsten, oder nimm einen Wiederherstellungscode"},
		{"a password has at most %s bytes", "ein Passwort hat höchstens %s Byte"},
		{"use at most %s bytes", "nimm höchstens %s Byte"},
		{"use at least %s characters", "nimm mindestens %s Zeichen"},
		{"use at most %s characters, on one line", "nimm höchstens %s Zeichen, in einer Zeile"},
		{"use from 1 to %s letters from a to z, digits, and . _ - @ +", "nimm 1 bis %s Buchstaben von a bis z, Ziffern und . _ - @ +"},
		{"it is not text", "es ist kein Text"},
		{"use another one than your name", "nimm ein anderes als deinen Namen"},
		{"this one is among the first that are guessed: choose another", "dieses wird als eines der ersten geraten: Wähle ein anderes"},
		{"%s is taken: choose another", "%s ist vergeben: Wähle einen anderen"},
		{"the owner of this machine stays an admin, and can't be disabled or removed", "der Besitzer dieses Rechners bleibt Admin und lässt sich nicht sperren oder entfernen"},
		{"must be from 0 to %s", "muss von 0 bis %s sein"},
		{"a token's name has from 1 to %s characters on one line, not %s", "der Name eines Tokens hat 1 bis %s Zeichen in einer Zeile, nicht %s"},
		{"the rights of a token are watch, steer, answer or own, not %s", "die Rechte eines Tokens sind watch, steer, answer oder own, nicht %s"},
		{"a %s has the right %s at most", "ein %s hat höchstens das Recht %s"},
		{"a person has at most %s tokens: remove one", "man hat höchstens %s Tokens: Entferne einen"},
		{"a person has at most %s passkeys: remove one", "man hat höchstens %s Passkeys: Entferne einen"},
		{"a person has at most %s linked accounts: unlink one", "man hat höchstens %s verknüpfte Konten: Trenne eines"},
		{"set a password first: it locks the keys", "setze zuerst ein Passwort: Es sperrt die Schlüssel"},
		{"begin with a new secret", "beginne mit einem neuen Schlüssel"},
		{"recovery codes are for a second factor, and there is none", "Wiederherstellungscodes gehören zu einem zweiten Faktor, und es gibt keinen"},
		{"nothing else signs you in: set a password or add a passkey first", "sonst meldet dich nichts an: Setze zuerst ein Passwort, oder füge einen Passkey hinzu"},
		{"that is not the recovery key", "das ist nicht der Wiederherstellungsschlüssel"},
		{"the keys were locked with another password", "die Schlüssel wurden mit einem anderen Passwort gesperrt"},
		{"it doesn't open the keys: if it was changed by a reset, give the old one or the recovery key, too", "es öffnet die Schlüssel nicht: Wurde es zurückgesetzt, gib auch das alte ein, oder den Wiederherstellungsschlüssel"},
		{"%s knows you, but nobody here has linked that account: sign in another way and link it, or ask an admin for an invitation", "%s kennt dich, aber niemand hier hat dieses Konto verknüpft: Melde dich anders an und verknüpfe es, oder bitte einen Admin um eine Einladung"},
		{"the account can't sign in now: ask an admin", "das Konto kann sich jetzt nicht anmelden: Frage einen Admin"},
		{"the name that you have at %s can't be one here: ask an admin for an invitation, and link the account then", "dein Name bei %s kann hier keiner sein: Bitte einen Admin um eine Einladung, und verknüpfe dann das Konto"},
		{"the name %s is taken here: if it is yours, sign in another way and link %s in your account; else ask an admin for an invitation", "der Name %s ist hier vergeben: Ist es deiner, melde dich anders an und verknüpfe %s in deinem Konto; sonst bitte einen Admin um eine Einladung"},
		{"this account of %s is linked already, with yours or another person's", "dieses Konto bei %s ist schon verknüpft, mit deinem oder dem von jemand anderem"},
		{"token %s is taken: remove it, or choose another name", "der Token %s ist vergeben: Entferne ihn, oder wähle einen anderen Namen"},
		{"unknown token %s", "unbekannter Token %s"},
		{"unknown device", "unbekanntes Gerät"},
		{"unknown token", "unbekannter Token"},
		{"unknown passkey", "unbekannter Passkey"},
	} {
		if german, ok := translated(text, one[0], one[1]); ok {
			return german
		}
	}
	return ""
}
