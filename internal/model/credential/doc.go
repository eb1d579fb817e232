// Package credential knows whose key a request carries: it keeps keys and
// logins, picks one for a session, renews it, and says in words where it came
// from.
//
// # How a key is found
//
// [Manager.Key] asks in this order and takes the first answer:
//
//  1. the key of the command line, for the provider it was given for
//  2. the provider's key in models.yml, if the provider pins it
//  3. a stored API key
//  4. a stored login, renewed if it is about to expire
//  5. the provider's environment variables, then the same names in .env files
//  6. the provider's key in models.yml
//  7. nothing, if the provider needs no key
//
// The database is opened only if it exists: who keeps keys in the environment
// never pays for it. Several stored credentials of one provider take turns;
// requests of one session stay with one credential as long as it can be used,
// so that the vendor's prompt cache does. A credential that reached a limit is
// blocked for a time and one that was refused is disabled with the cause; both
// are passed over until then. When all are blocked the error says when the
// first is free again, and no other source is tried: a key of the environment
// must not silently pay for what a plan has used up.
//
// # How secrets are kept
//
// Each secret is sealed with XChaCha20-Poly1305 under a random key that is held
// by the operating system's keyring, or by a file that only its owner can read
// where there is none. The row's id, provider and kind are bound to it, so a
// sealed value cannot be moved to another row. A secret that cannot be opened is
// never deleted; the error says how to get it back or to let it go.
//
// Secrets travel as [Secret], which prints as a placeholder.
//
// # Renewal
//
// Refresh tokens count once with many vendors. A renewal therefore happens once
// at a time: within the process by sharing the flight, between processes under a
// file lock that dies with its holder.
package credential
