// Package usage is the ledger of what models cost: one line per request in
// burin.db, and limits that hold over all processes that share the file.
//
// A request begins with [Ledger.Reserve], which compares what was spent and what
// requests under way may still cost with each limit, and holds a place for this
// one. It ends with [Reservation.Settle], which writes its line, or with
// [Reservation.Release] if it cost nothing. Every request takes this way:
// retries, titles, compactions and those of sub-agents, which count in the turn
// and the session they work for. Failed requests are settled when the vendor
// charged for them or may have.
//
// # What a limit promises
//
// A request is let through while spent + held is less than each limit. What is
// spent beyond a limit is therefore at most what the requests under way at that
// moment cost more than was left. A request whose cost is not known in the end
// (its stream was cut before the vendor said) counts as its estimate, so that
// retries cannot run past a limit unseen. Models without a known price are
// refused under a limit unless [Limits.AllowUnknown] says otherwise, and free
// ones are never refused.
//
// Turn and session limits are kept in memory, because one process owns a live
// session; what an earlier process spent in it is read from the file. Project
// and month limits are kept in the file. The month is the calendar month in local
// time, and so is the span of a project's limit: a limit for all time would end
// the work in every folder that lives long enough. A limit that cannot be
// checked, because the file cannot be read or written, refuses the request.
//
// # What is on the disk, and when
//
// [Open] touches nothing, and Reserve opens the file only for a project or month
// limit or a resumed session. Settle puts its line into a queue of at most
// [MaxQueue] and returns; a goroutine, which lives only while there are lines,
// writes them at once, many in one transaction. [Ledger.Close] writes what is
// left. A process that is killed loses the lines of the fraction of a second before,
// at most the queue; a machine that loses power may lose what SQLite had not
// synced. A reservation in the file stands until its line is written. Those of a
// process that died are removed by whoever meets them: each process holds a lock
// on a file of its own in locks/, and the system drops it with the process.
//
// Costs are those of the moment of the answer ([llm.Usage.Cost]) and are never
// computed again. What is not known is told apart from what is free everywhere:
// in the file, in a [Table], as text, CSV and JSON.
package usage
