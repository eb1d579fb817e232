// Package oauth logs a person in at a model provider and renews what came of it:
// the authorization code flow with PKCE and a callback on the loopback
// interface (RFC 6749, RFC 7636, RFC 8252), the device flow (RFC 8628) and the
// refresh of access tokens.
//
// Providers are data. Built in are only those whose vendor documents a login
// for any program, without a registration or a secret of ours; see [Builtin].
// More come from the user's configuration, with a client id of the user's own.
// A program on the user's machine cannot keep a client secret, so there is none,
// but for the one that a web service's authorization server gives or wants.
//
// Web services that name their authorization server (RFC 9728), as servers of the
// Model Context Protocol do, are providers that [Client.Discover] finds out: from
// the metadata of both (RFC 8414, OpenID Connect Discovery), for which burin is
// registered (RFC 7591). Tokens are asked for that service (RFC 8707).
//
// It promises:
//
//   - A callback counts once, and only with the state of this login.
//   - Nothing listens outside the loopback interface, and nothing at all after
//     the login has ended.
//   - Token endpoints are reached over TLS, or on the loopback interface, and no
//     redirect is followed.
//   - What a service names is on this machine only if the service is, and speaks of
//     this service and of itself. An answer of another issuer ends the login.
//   - Neither errors nor notices hold a token, a code or a verifier.
//
// Storing tokens and deciding when to renew them is the caller's.
package oauth
