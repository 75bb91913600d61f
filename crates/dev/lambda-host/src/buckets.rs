//! Buckets and their S3 API. The objects are files in a folder.
//!
//! The engine is `s3s-fs`, which its authors call experimental: only this module uses it, so that it can be replaced.

use std::io;
use std::path::{Path, PathBuf};

use s3s::access::{S3Access, S3AccessContext};
use s3s::auth::{S3Auth, SecretKey};
use s3s::dto::{
    AbortMultipartUploadInput, AbortMultipartUploadOutput, CompleteMultipartUploadInput, CompleteMultipartUploadOutput,
    CopyObjectInput, CopyObjectOutput, CreateBucketInput, CreateBucketOutput, CreateMultipartUploadInput,
    CreateMultipartUploadOutput, DeleteBucketInput, DeleteBucketOutput, DeleteObjectInput, DeleteObjectOutput,
    DeleteObjectsInput, DeleteObjectsOutput, GetBucketLocationInput, GetBucketLocationOutput, GetObjectInput,
    GetObjectOutput, HeadBucketInput, HeadBucketOutput, HeadObjectInput, HeadObjectOutput, ListBucketsInput,
    ListBucketsOutput, ListObjectsInput, ListObjectsOutput, ListObjectsV2Input, ListObjectsV2Output, ListPartsInput,
    ListPartsOutput, PutObjectInput, PutObjectOutput, StreamingBlob, UploadPartInput, UploadPartOutput,
};
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{Body, S3, S3Error, S3ErrorCode, S3Request, S3Response, S3Result, s3_error};
use s3s_fs::FileSystem;
use tokio::net::TcpListener;
use tokio::sync::RwLock;

use crate::http_server;

/// The secret of every access key. Requests are signed with it, or not signed.
pub const SECRET: &str = "local";

/// The largest body of one request: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html>.
const MAX_BODY: usize = 5 << 30;

/// The largest number of keys of one page: <https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html>.
const MAX_PAGE: i32 = 1000;

/// All buckets. Each is a folder, in which an object is a file whose path is its key.
#[derive(Clone)]
pub struct Buckets {
    root: PathBuf,
    service: S3Service,
}

impl Buckets {
    /// Opens the buckets in a folder, and creates the folder if it is missing.
    pub fn open(root: impl Into<PathBuf>) -> io::Result<Self> {
        let root = root.into();
        std::fs::create_dir_all(&root)?;
        let files = FileSystem::new(&root).map_err(|error| io::Error::other(format!("{error:?}")))?;
        let mut service = S3ServiceBuilder::new(Api { root: root.clone(), files, writing: RwLock::default() });
        service.set_auth(AllowAll);
        service.set_access(AllowAll);
        Ok(Self { root, service: service.build() })
    }

    /// Creates a bucket, unless it exists.
    pub fn create(&self, bucket: &str) -> io::Result<()> {
        std::fs::create_dir_all(self.folder(bucket))
    }

    /// The folder with the objects of a bucket.
    #[must_use]
    pub fn folder(&self, bucket: &str) -> PathBuf {
        self.root.join(bucket)
    }

    /// Serves the S3 API, with the buckets' names in the paths, until this future is dropped.
    pub async fn serve(&self, listener: TcpListener) -> io::Result<()> {
        http_server::serve(listener, self.service.clone()).await
    }
}

impl std::fmt::Debug for Buckets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buckets").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Accepts every access key, and requests without one, and allows everything.
struct AllowAll;

#[async_trait::async_trait]
impl S3Auth for AllowAll {
    async fn get_secret_key(&self, _access_key: &str) -> S3Result<SecretKey> {
        Ok(SecretKey::from(SECRET))
    }
}

#[async_trait::async_trait]
impl S3Access for AllowAll {
    async fn check(&self, _: &mut S3AccessContext<'_>) -> S3Result<()> {
        Ok(())
    }
}

/// Adds to the engine's API what it lacks: conditions are checked in the same step as the write, an object is read and
/// written together with its checksum, and a bucket must exist.
struct Api {
    root: PathBuf,
    files: FileSystem,
    /// A writer holds it for the whole write; a reader only until the file is open. An open file does not change.
    writing: RwLock<()>,
}

impl Api {
    /// Without this check the engine would create a folder, or report only the key as missing.
    fn check_bucket(&self, bucket: &str) -> S3Result<()> {
        if is_folder(&self.root.join(bucket)) { Ok(()) } else { Err(s3_error!(NoSuchBucket)) }
    }
}

fn is_folder(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.is_dir())
}

/// Forwards operations to the engine under the read or the write lock.
macro_rules! forward {
    ($($lock:ident $operation:ident($input:ty) -> $output:ty;)*) => {$(
        fn $operation<'a, 'async_trait>(
            &'a self,
            request: S3Request<$input>,
        ) -> std::pin::Pin<Box<dyn Future<Output = S3Result<S3Response<$output>>> + Send + 'async_trait>>
        where
            'a: 'async_trait,
        {
            Box::pin(async move {
                let _lock = self.writing.$lock().await;
                self.files.$operation(request).await
            })
        }
    )*};
}

#[async_trait::async_trait]
impl S3 for Api {
    async fn put_object(&self, mut request: S3Request<PutObjectInput>) -> S3Result<S3Response<PutObjectOutput>> {
        self.check_bucket(&request.input.bucket)?;
        // The body is received before the lock is taken, so that a slow client does not block the others.
        request.input.body = match request.input.body.take() {
            Some(body) => Some(received(body).await?),
            None => None,
        };
        let _lock = self.writing.write().await;
        self.files.put_object(request).await
    }

    async fn upload_part(&self, mut request: S3Request<UploadPartInput>) -> S3Result<S3Response<UploadPartOutput>> {
        request.input.body = match request.input.body.take() {
            Some(body) => Some(received(body).await?),
            None => None,
        };
        let _lock = self.writing.write().await;
        self.files.upload_part(request).await
    }

    async fn get_object(&self, request: S3Request<GetObjectInput>) -> S3Result<S3Response<GetObjectOutput>> {
        self.check_bucket(&request.input.bucket)?;
        let _lock = self.writing.read().await;
        self.files.get_object(request).await
    }

    async fn list_objects_v2(
        &self,
        mut request: S3Request<ListObjectsV2Input>,
    ) -> S3Result<S3Response<ListObjectsV2Output>> {
        request.input.max_keys = request.input.max_keys.map(|keys| keys.min(MAX_PAGE));
        let _lock = self.writing.read().await;
        self.files.list_objects_v2(request).await
    }

    async fn create_multipart_upload(
        &self,
        request: S3Request<CreateMultipartUploadInput>,
    ) -> S3Result<S3Response<CreateMultipartUploadOutput>> {
        self.check_bucket(&request.input.bucket)?;
        let _lock = self.writing.write().await;
        self.files.create_multipart_upload(request).await
    }

    forward! {
        read head_object(HeadObjectInput) -> HeadObjectOutput;
        read head_bucket(HeadBucketInput) -> HeadBucketOutput;
        read get_bucket_location(GetBucketLocationInput) -> GetBucketLocationOutput;
        read list_buckets(ListBucketsInput) -> ListBucketsOutput;
        read list_objects(ListObjectsInput) -> ListObjectsOutput;
        read list_parts(ListPartsInput) -> ListPartsOutput;
        write abort_multipart_upload(AbortMultipartUploadInput) -> AbortMultipartUploadOutput;
        write complete_multipart_upload(CompleteMultipartUploadInput) -> CompleteMultipartUploadOutput;
        write copy_object(CopyObjectInput) -> CopyObjectOutput;
        write create_bucket(CreateBucketInput) -> CreateBucketOutput;
        write delete_bucket(DeleteBucketInput) -> DeleteBucketOutput;
        write delete_object(DeleteObjectInput) -> DeleteObjectOutput;
        write delete_objects(DeleteObjectsInput) -> DeleteObjectsOutput;
    }
}

/// Receives the whole body.
async fn received(body: StreamingBlob) -> S3Result<StreamingBlob> {
    let mut body = Body::from(body);
    let bytes = body.store_all_limited(MAX_BODY).await;
    let bytes = bytes.map_err(|error| S3Error::with_source(S3ErrorCode::IncompleteBody, error))?;
    Ok(StreamingBlob::from(Body::from(bytes)))
}
