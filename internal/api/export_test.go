package api

// RouteInfo is a route as tests see it.
type RouteInfo struct {
	Method, Path string
	Needs        int // 0 no token, 1 read, 2 write, 3 admin
	Action       string
}

// Routes lists every route of the control API.
func Routes() []RouteInfo {
	var list []RouteInfo
	for _, r := range (&api{}).routes() {
		list = append(list, RouteInfo{Method: r.method, Path: r.path, Needs: int(r.needs), Action: r.action})
	}
	return list
}
