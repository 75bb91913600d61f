//! An SNS topic that accepts every message immediately. The meter counts the requests.

use std::fmt::Write as _;
use std::sync::Arc;

use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::http::request::Parts;

use super::meter::Meter;
use super::server::RequestHandler;
use crate::Result;

pub(super) struct Topic(pub(super) Arc<Meter>);

impl RequestHandler for Topic {
    async fn answer(&self, _: Parts, body: Bytes) -> Result<Response<Full<Bytes>>> {
        self.0.count("PublishBatch");
        Ok(Response::builder().header("content-type", "text/xml").body(Full::new(Bytes::from(all_accepted(&body))))?)
    }
}

/// The response to a `PublishBatch`: all entries are accepted.
/// <https://docs.aws.amazon.com/sns/latest/api/API_PublishBatch.html>
fn all_accepted(body: &[u8]) -> String {
    let mut members = String::new();
    for (name, id) in form_urlencoded::parse(body) {
        if name.starts_with("PublishBatchRequestEntries.") && name.ends_with(".Id") {
            let _ = write!(members, "<member><Id>{id}</Id><MessageId>{id}</MessageId></member>");
        }
    }
    format!(
        "<PublishBatchResponse xmlns=\"http://sns.amazonaws.com/doc/2010-03-31/\"><PublishBatchResult>\
         <Successful>{members}</Successful><Failed/></PublishBatchResult>\
         <ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></PublishBatchResponse>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_entry_is_accepted_and_nothing_else() {
        let body = b"Action=PublishBatch&TopicArn=arn&PublishBatchRequestEntries.member.1.Id=0\
            &PublishBatchRequestEntries.member.1.Message=m&PublishBatchRequestEntries.member.2.Id=1";
        let response = all_accepted(body);
        assert!(response.contains("<Id>0</Id>") && response.contains("<Id>1</Id>"), "{response}");
        assert_eq!(response.matches("<member>").count(), 2);
    }
}
