// Package catalog knows the models: which there are, how to reach them, what
// they can do and cost, and which one is meant by what a person typed.
//
// [Open] gives a [Catalog] of three parts. The [Registry] is the table of models
// and providers. The [Resolver] reads selectors and roles. [Servers] ask which
// models they have. [Promotion] finds a model with a larger window.
//
// # Where models come from
//
// Three sources, later ones on top: the table that is compiled in (models.tsv,
// written by gen from public facts, or a newer one taken over by [Refresh]),
// the user's models.yml, and what servers said they hold ([Servers.Discover],
// kept in a cache). Overrides of models.yml are applied last, again.
//
// # What a catalog promises
//
//   - [Open] reads models.yml and nothing else. A bad file leaves the built-in
//     models in place and is reported with the catalog, each problem in one
//     line with its position.
//   - A lookup of "provider/id" reads the lines it needs; the whole table is
//     read only when something asks for all models or matches loosely.
//   - The network is used only by Discover, Refresh and ResolveOrDiscover.
//   - An unknown price stays unknown. Zero means free and is said only of
//     models known to be.
//   - Credentials are somebody else's: the caller says which providers can be
//     used, and keys are passed on as references, never resolved.
//
// A catalog may be used by several goroutines. The models it returns are
// shared and must not be changed.
package catalog

//go:generate go run ./gen -source $CATALOG_SOURCE -date $CATALOG_DATE -out models.tsv
