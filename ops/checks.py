"""Checks before a deployment. Each returns the problem and its solution, or None."""

import http.client
import json
import urllib.error
import urllib.parse
import urllib.request

import boto3
from botocore.exceptions import ClientError
from stage import stack_called

# A stack in one of these states can be created or updated. REVIEW_IN_PROGRESS has only change sets.
# https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/view-stack-events.html
READY = [
    "CREATE_COMPLETE",
    "UPDATE_COMPLETE",
    "UPDATE_ROLLBACK_COMPLETE",
    "IMPORT_COMPLETE",
    "IMPORT_ROLLBACK_COMPLETE",
    "REVIEW_IN_PROGRESS",
]

# Long enough for an issuer with a cold start.
ISSUER_SECONDS = 10


def stack_problem(stage, status):
    """Why a stack in this status cannot be deployed."""
    delete = stage.make("delete")
    if status in READY:
        return None
    if status == "ROLLBACK_COMPLETE":
        return (
            f"its first deployment failed and was rolled back. CloudFormation cannot update such a stack.\n"
            f"Delete it, fix the cause, and deploy again: {delete}\n"
            f"In production the tables are kept; the same command offers to delete the empty ones."
        )
    if status in ["CREATE_FAILED", "ROLLBACK_FAILED"]:
        return f"its first deployment and its rollback failed.\nDelete it, fix the cause, and deploy again: {delete}"
    if status == "DELETE_FAILED":
        return f"it could not be deleted completely. Fix the cause, and delete it again: {delete}"
    if status in ["UPDATE_FAILED", "UPDATE_ROLLBACK_FAILED"]:
        command = "rollback-stack" if status == "UPDATE_FAILED" else "continue-update-rollback"
        return (
            f"an update failed and is not rolled back. Fix the cause, then return to the last version that worked:\n"
            f"aws cloudformation {command} --stack-name {stage.stack_name}"
        )
    if status.endswith("_IN_PROGRESS"):
        return f"an operation is in progress. Wait until it has finished: {stage.make('status')}"
    return f"unexpected status. See {stage.stack_name} in the CloudFormation console."


def first_failure(stack):
    """What failed first in the stack's last operation, as CloudFormation says."""
    failed = None
    pages = boto3.client("cloudformation").get_paginator("describe_stack_events").paginate(StackName=stack["StackId"])
    # The newest come first, and an operation starts with an event of the stack itself.
    for event in (event for page in pages for event in page["StackEvents"]):
        if event["ResourceStatus"].endswith("_FAILED"):
            failed = event
        begins = event["ResourceStatus"] in ["CREATE_IN_PROGRESS", "UPDATE_IN_PROGRESS", "DELETE_IN_PROGRESS"]
        if begins and event["PhysicalResourceId"] == stack["StackId"]:
            break
    return failed and f"{failed['LogicalResourceId']}: {failed.get('ResourceStatusReason', 'no reason given')}"


def issuer_problem(issuer):
    """Whether API Gateway will reject this issuer: it reads its discovery document when the authorizer is created.

    https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html
    """
    # A slash at the end of the issuer is not doubled.
    # https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfigurationRequest
    url = issuer.removesuffix("/") + "/.well-known/openid-configuration"
    skip = "If only AWS can reach it, deploy with SKIP_ISSUER_CHECK=1."
    try:
        with urllib.request.urlopen(url, timeout=ISSUER_SECONDS) as response:
            document = json.loads(response.read(1_000_000))
        named, keys = document["issuer"], document["jwks_uri"]
    except urllib.error.HTTPError as error:
        return f"{url} returns {error.code}, so JwtIssuer={issuer} is not an OpenID issuer. {skip}"
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        # The URL is not valid, or the document is not a JSON object with these two members.
        return f"{url} is not an OpenID discovery document with an issuer and a jwks_uri: {type(error).__name__} {error}"
    except (OSError, http.client.HTTPException) as error:
        return f"{url} cannot be read: {error}. {skip}"
    if named != issuer:
        hint = " They differ only in the slash at the end." if str(named).rstrip("/") == issuer.rstrip("/") else ""
        return (
            f"JwtIssuer is {issuer}, but its discovery document says {named}.{hint}\n"
            f"Tokens contain the latter, so set JwtIssuer={named}"
        )
    if not (isinstance(keys, str) and urllib.parse.urlsplit(keys).scheme in ["https", "http"]):
        return f"{url} has a jwks_uri that is not a URL: {keys}"
    return None


def tables_problem(stage, names):
    """Whether the table names of a new stack are taken."""
    problems = []
    for name in names:
        table = left_table(name)
        if table is None:
            continue
        if owner := table["owner"]:
            problems.append(f"the table {name} belongs to the stack {owner}: choose another Prefix")
        elif table["made_by"] != stage.stack_name:
            problems.append(f"the table {name} already exists, and {maker(table)}: choose another Prefix")
        elif table["empty"]:
            problems.append(
                f"the table {name} already exists. An earlier deployment left it, and it is empty. Delete it: {stage.make('delete')}"
            )
        else:
            problems.append(
                f"the table {name} already exists. An earlier deployment left it, and it has items. Deploy with another Prefix, or import it into the stack "
                f"(https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/import-resources-automatically.html); "
                f"if the items are not needed, delete the table yourself"
            )
    return "\n".join(problems) or None


def bucket_problem(values):
    """Whether the bucket name of a new stack's archive is taken, with these parameters."""
    if values["Archive"] != "true" or values["ArchiveBucket"]:
        return None
    session = boto3.session.Session()
    account = session.client("sts").get_caller_identity()["Account"]
    name = f"{values['Prefix']}-{account}-{session.region_name}"
    try:
        session.client("s3").head_bucket(Bucket=name)
    except ClientError as error:
        if error.response["ResponseMetadata"]["HTTPStatusCode"] == 404:
            return None
        return f"the bucket {name} already exists and cannot be used ({error}): deploy with another Prefix"
    return (
        f"the bucket {name} already exists: an earlier deployment left its archive. Deploy with ArchiveBucket={name} to continue with it; "
        f"if the events are not needed, delete the bucket yourself"
    )


def left_table(name):
    """The table of this name, or None.

    owner: the existing stack that it belongs to, or None; made_by: the name of the stack that created it, deleted or not, or None; whether
    the table is empty, and whether it is protected from deletion.
    """
    dynamodb = boto3.client("dynamodb")
    try:
        table = dynamodb.describe_table(TableName=name)["Table"]
    except dynamodb.exceptions.ResourceNotFoundException:
        return None
    tags = dynamodb.get_paginator("list_tags_of_resource").paginate(ResourceArn=table["TableArn"])
    tags = {tag["Key"]: tag["Value"] for page in tags for tag in page["Tags"]}
    # Not ItemCount, which may be hours old.
    items = dynamodb.scan(TableName=name, Limit=1, ConsistentRead=True)["Items"]
    return {
        # CloudFormation sets both tags, and a table keeps them when its stack is deleted.
        # https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/aws-properties-resource-tags.html
        "owner": live_stack(tags.get("aws:cloudformation:stack-id")),
        "made_by": tags.get("aws:cloudformation:stack-name"),
        "empty": not items,
        "protected": table.get("DeletionProtectionEnabled", False),
    }


def maker(table):
    """Which stack created a table, if it is not this stage's stack."""
    return f"the stack {table['made_by']} created it" if table["made_by"] else "no stack created it"


def live_stack(stack_id):
    """The name of the stack with this id, unless it is deleted."""
    stack = stack_id and stack_called(stack_id)
    return stack["StackName"] if stack and stack["StackStatus"] != "DELETE_COMPLETE" else None
