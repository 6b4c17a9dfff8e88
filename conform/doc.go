// Package conform tests the stores with the suite of package storetest, random scripts against a big-integer model,
// recorded histories, and properties of the bounds. It is a separate module, so that users don't depend on its tools.
package conform
