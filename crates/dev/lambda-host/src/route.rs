//! The routes of an HTTP API, by API Gateway's rules:
//! <https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-routes.html>.

use std::collections::BTreeMap;

use axum::http::Method;
use percent_encoding::percent_decode_str;
use serde::Deserialize;

/// A route as a template declares it.
#[derive(Debug, Clone, Deserialize)]
pub struct Route {
    /// Such as `ANY /orders/{orderId}`, `ANY /files/{path+}` for every path below, or `$default` for requests that no other route matches.
    pub key: String,
    /// Such as `JWT`, or `NONE`.
    pub authorization: String,
}

/// The route that serves a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RouteMatch<'a> {
    /// The route's index in the list of all routes.
    pub(crate) index: usize,
    pub(crate) key: &'a str,
    pub(crate) is_authorized: bool,
    /// The decoded path parameters, by name.
    pub(crate) parameters: BTreeMap<String, String>,
}

impl Route {
    /// Returns the most specific route that matches a request. A route that names the method wins over one with `ANY`.
    ///
    /// API Gateway decodes the path before it looks for the route: `%2F` is a slash like any other, and `/orders/a%2Fb` does not
    /// match `/orders/{orderId}`. AWS documents that it decodes, but not when; users report this order
    /// (<https://github.com/ccbrown/cloud-snitch/pull/13>).
    pub(crate) fn find<'a>(routes: &'a [Self], method: &Method, path: &str) -> Option<RouteMatch<'a>> {
        let path = percent_decode_str(path).decode_utf8_lossy();
        let matching = routes.iter().enumerate().filter_map(|(index, route)| {
            let (specificity, parameters) = route.matches(method, &path)?;
            let matched =
                RouteMatch { index, key: &route.key, is_authorized: route.authorization != "NONE", parameters };
            Some((specificity, matched))
        });
        matching.max_by_key(|(specificity, _)| *specificity).map(|(_, matched)| matched)
    }

    /// Returns how specific the match is, and the path's parameters.
    fn matches(&self, method: &Method, path: &str) -> Option<(Specificity, BTreeMap<String, String>)> {
        let Some((of_method, of_path)) = self.key.split_once(' ') else {
            return (self.key == "$default").then(Default::default);
        };
        let names_method = of_method == method.as_str();
        if !names_method && of_method != "ANY" {
            return None;
        }
        let pattern: Vec<_> = of_path.split('/').collect();
        let is_greedy = of_path.ends_with("+}");
        // The last part of a greedy route matches the rest of the path.
        let most = if is_greedy { pattern.len() } else { usize::MAX };
        let segments: Vec<_> = path.splitn(most, '/').collect();
        if pattern.len() != segments.len() {
            return None;
        }
        let mut parameters = BTreeMap::new();
        for (pattern, segment) in pattern.iter().zip(segments) {
            match pattern.strip_prefix('{').and_then(|pattern| pattern.strip_suffix('}')) {
                Some(name) if !segment.is_empty() => {
                    parameters.insert(name.trim_end_matches('+').to_owned(), segment.to_owned());
                }
                None if *pattern == segment => {}
                _ => return None,
            }
        }
        let fixed = pattern.len() - parameters.len();
        Some((Specificity { is_whole: !is_greedy, fixed, names_method }, parameters))
    }
}

/// Of two routes that match, the greater wins.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Specificity {
    /// Whether the route is not greedy: API Gateway tries greedy routes after all others.
    is_whole: bool,
    /// The number of fixed parts. `$default` has none; every other route starts with an empty one.
    fixed: usize,
    names_method: bool,
}

#[cfg(test)]
#[allow(clippy::unwrap_used)] // A failed unwrap fails the test.
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_route_wins() {
        check(&Method::GET, "/orders", "ANY /orders", &[]);
        check(&Method::OPTIONS, "/orders", "OPTIONS /orders", &[]);
        check(&Method::GET, "/orders/99", "ANY /orders/{orderId}", &[("orderId", "99")]);
        check(&Method::OPTIONS, "/orders/99", "OPTIONS /orders/{orderId}", &[("orderId", "99")]);
        check(&Method::GET, "/orders/count", "GET /orders/count", &[]);
        check(&Method::POST, "/orders/count", "ANY /orders/{orderId}", &[("orderId", "count")]);
        check(&Method::GET, "/orders/a%25b%20c", "ANY /orders/{orderId}", &[("orderId", "a%b c")]);
    }

    #[test]
    fn a_greedy_parameter_takes_the_rest_of_the_path() {
        check(&Method::GET, "/files/a", "ANY /files/{path+}", &[("path", "a")]);
        check(&Method::GET, "/files/a/b/", "ANY /files/{path+}", &[("path", "a/b/")]);
        check(&Method::GET, "/files/a%2Fb%252Fc", "ANY /files/{path+}", &[("path", "a/b%2Fc")]);
        check(&Method::OPTIONS, "/files/a/b", "OPTIONS /files/{path+}", &[("path", "a/b")]);
        check(&Method::GET, "/files/a/size", "ANY /files/{name}/size", &[("name", "a")]);
        check(&Method::GET, "/files/a/b/size", "ANY /files/{path+}", &[("path", "a/b/size")]);
        check(&Method::GET, "/files/", "$default", &[]);
        check(&Method::GET, "/files", "$default", &[]);
    }

    #[test]
    fn an_encoded_slash_is_a_slash() {
        check(&Method::GET, "/orders/a%2Fb", "$default", &[]);
        check(&Method::GET, "/orders%2F99", "ANY /orders/{orderId}", &[("orderId", "99")]);
    }

    #[test]
    fn a_request_that_no_route_matches_goes_to_the_default_route() {
        for path in ["/", "/order", "/orders/", "/orders/99/lines", "/Orders"] {
            check(&Method::GET, path, "$default", &[]);
            assert_eq!(Route::find(&routes()[1..], &Method::GET, path), None, "{path}");
        }
    }

    fn routes() -> Vec<Route> {
        let keys = [
            "$default",
            "ANY /orders",
            "ANY /orders/{orderId}",
            "OPTIONS /orders",
            "OPTIONS /orders/{orderId}",
            "GET /orders/count",
            "ANY /files/{path+}",
            "OPTIONS /files/{path+}",
            "ANY /files/{name}/size",
        ];
        keys.map(|key| Route { key: key.to_owned(), authorization: "NONE".to_owned() }).to_vec()
    }

    #[track_caller]
    fn check(method: &Method, path: &str, key: &str, parameters: &[(&str, &str)]) {
        let routes = routes();
        let parameters = parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let index = routes.iter().position(|route| route.key == key).unwrap();
        let expected = RouteMatch { index, key, is_authorized: false, parameters };
        assert_eq!(Route::find(&routes, method, path), Some(expected), "{method} {path}");
    }
}
