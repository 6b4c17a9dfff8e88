// Package conform proves the stores: the suite of package storetest, random
// scripts against a big-integer model, recorded histories, and bounds as
// properties. It is a module of its own, so that its tools never reach users.
package conform
