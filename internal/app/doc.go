// Package app owns composition: configuration, pools, services, routes and
// shutdown. What is real and what is a stand-in is chosen here and in package
// demo, nowhere else.
//
// It holds no rules of the product.
package app
