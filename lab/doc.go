// Package lab tests the stores with the suite in package storetest, with random scripts and a big-integer model,
// with recorded histories, and with properties of the bounds. It is a separate module, so that users do not depend on
// its tools.
package lab
