// Package redrive brings up to date what the records stand for that were set aside: by Lambda, in the bucket that is the
// on-failure destination of the projector's event source mapping, or by the pump, in a file.
//
// A record only says where to look. Its key names a posting, and so a balance, or a grant, and so a membership. Both are
// done from the table, by the projector itself: what was counted is found counted, and all of it may be done again.
package redrive
