// Package wire contains what HTTP requests and responses say of limits: the client behind proxies, rate-limit headers,
// outcomes and problems. Package httplimit and the server share it.
package wire
