//! Buckets and their S3 API, over a folder.
//!
//! The engine is `s3s-fs`, which is an experiment of its authors: no other module knows it, so that another can take its place.

use std::io;
use std::path::{Path, PathBuf};

use hyper::server::conn::http1;
use hyper_util::rt::TokioIo;
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
use tokio::task::JoinSet;

/// The secret of every access key: requests are signed with it, or not at all.
pub const SECRET: &str = "local";

/// The largest body of one request: <https://docs.aws.amazon.com/AmazonS3/latest/userguide/upload-objects.html>.
const LARGEST_BODY: usize = 5 << 30;

/// The most keys of one page: <https://docs.aws.amazon.com/AmazonS3/latest/API/API_ListObjectsV2.html>.
const LARGEST_PAGE: i32 = 1000;

/// All buckets. Each is a folder, in which an object is a file whose path is its key.
#[derive(Clone)]
pub struct Buckets {
    root: PathBuf,
    service: S3Service,
}

impl Buckets {
    /// The buckets in a folder, which is made if it is not there.
    pub fn open(root: impl Into<PathBuf>) -> io::Result<Self> {
        let root = root.into();
        std::fs::create_dir_all(&root)?;
        let files = FileSystem::new(&root).map_err(|error| io::Error::other(format!("{error:?}")))?;
        let mut service = S3ServiceBuilder::new(Api { root: root.clone(), files, writing: RwLock::default() });
        service.set_auth(Everybody);
        service.set_access(Everybody);
        Ok(Self { root, service: service.build() })
    }

    /// Creates a bucket, unless it is there.
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
        let mut connections = JoinSet::new();
        loop {
            let (stream, _) = listener.accept().await?;
            let service = self.service.clone();
            connections.spawn(async move {
                // A client that goes away is no error of ours.
                let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
            });
            while connections.try_join_next().is_some() {}
        }
    }
}

impl std::fmt::Debug for Buckets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Buckets").field("root", &self.root).finish_non_exhaustive()
    }
}

/// Every access key is known, and allows everything. So does none.
struct Everybody;

#[async_trait::async_trait]
impl S3Auth for Everybody {
    async fn get_secret_key(&self, _access_key: &str) -> S3Result<SecretKey> {
        Ok(SecretKey::from(SECRET))
    }
}

#[async_trait::async_trait]
impl S3Access for Everybody {
    async fn check(&self, _: &mut S3AccessContext<'_>) -> S3Result<()> {
        Ok(())
    }
}

/// The engine's API, with what the engine lacks: conditions that hold while the object is written, an object and its check sum that are read and
/// written together, and buckets that must be there.
struct Api {
    root: PathBuf,
    files: FileSystem,
    /// Held by who writes, and by who reads until the file is open. The file that is open stays as it is.
    writing: RwLock<()>,
}

impl Api {
    /// The engine would make a folder for it, or say that only the key is missing.
    fn check_bucket(&self, bucket: &str) -> S3Result<()> {
        if is_folder(&self.root.join(bucket)) { Ok(()) } else { Err(s3_error!(NoSuchBucket)) }
    }
}

fn is_folder(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|about| about.is_dir())
}

/// What is passed on to the engine: a reading or a writing operation.
macro_rules! passed_on {
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
        // Who sends slowly holds up nobody else.
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
        request.input.max_keys = request.input.max_keys.map(|keys| keys.min(LARGEST_PAGE));
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

    passed_on! {
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

/// A body that has arrived.
async fn received(body: StreamingBlob) -> S3Result<StreamingBlob> {
    let mut body = Body::from(body);
    let bytes = body.store_all_limited(LARGEST_BODY).await;
    let bytes = bytes.map_err(|error| S3Error::with_source(S3ErrorCode::IncompleteBody, error))?;
    Ok(StreamingBlob::from(Body::from(bytes)))
}
