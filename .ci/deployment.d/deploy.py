"""Deploys the ledger in this folder to a stand-in for AWS with the documented commands, and uses, updates and deletes
the deployment. docs/testing.md says what this proves. The environment has the stand-in's address and credentials."""
import json
import os
import re
import subprocess
import time

import yaml
from botocore import auth, awsrequest, exceptions, httpsession, session as sessions

STACK, REGION, ENDPOINT = "ledger-prod", "us-east-1", os.environ["AWS_ENDPOINT_URL"]
DOCUMENT = open("docs/deployment.md").read()
lambdas, dynamodb, iam, kms, events, stacks = (sessions.Session().create_client(service, region_name=REGION)
                                               for service in ("lambda", "dynamodb", "iam", "kms", "events",
                                                               "cloudformation"))
failures = {}  # of functions that were invoked here: their last answer, None after a success
began = time.monotonic()


def check(ok, what):
    if not ok:
        raise SystemExit(f"FAILED: {what}; the last failures of functions: {failures}")
    print(f"{time.monotonic() - began:.0f} s: {what}", flush=True)


def until(what, condition, seconds=120):
    end = time.monotonic() + seconds
    while not (ok := condition()) and time.monotonic() < end:
        time.sleep(0.2)
    check(ok, what)


def snippets(language, after, before):
    """The code in a language between two texts of the document."""
    return re.findall(rf"```{language}\n(.*?)```", DOCUMENT.split(after)[1].split(before)[0], re.S)


def shell(script):
    subprocess.run(["bash", "-exc", script], check=True)


def user(name, *statements):
    """A session of a new IAM user."""
    iam.create_user(UserName=name)
    iam.put_user_policy(UserName=name, PolicyName=name, PolicyDocument=json.dumps({"Statement": statements}))
    key, session = iam.create_access_key(UserName=name)["AccessKey"], sessions.Session()
    session.set_credentials(key["AccessKeyId"], key["SecretAccessKey"])
    return session


def call(session, method, path, body=None):
    """The status and the answer of a signed request to the API."""
    headers = {"Host": f"{out['LedgerApi']}.execute-api.localhost", "Content-Type": "application/json"}
    request = awsrequest.AWSRequest(method, ENDPOINT + path, headers, body and json.dumps(body).encode())
    auth.SigV4Auth(session.get_credentials(), "execute-api", REGION).add_auth(request)
    answer = httpsession.URLLib3Session().send(request.prepare())
    return answer.status_code, json.loads(answer.content)


def transfer(session, id, hold=False):
    """Posts a transfer, or places a hold that is due after 4 to 5 s, and returns the status."""
    body = {"id": id, "postings": [{"account": "bank", "asset": "USD", "quantity": "-100"},
                                   {"account": "jane", "asset": "USD", "quantity": "100"}]}
    if hold:
        body["hold"] = {"expires_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 5))}
    return call(session, "POST", "/v1/transactions", body)[0]


def items(kind=""):
    """The table's items whose sort key begins with kind."""
    found = dynamodb.scan(TableName=out["LedgerTable"], ConsistentRead=True)["Items"]
    return [item for item in found if item["SK"]["S"].startswith(kind)]


def succeeds(function, kind="none"):
    """Whether a function succeeds with the stream's records of all items of a kind, without their images. The sweeper
    and the forwarder get the event of their schedules."""
    records = [{"eventName": "INSERT", "dynamodb": {"SequenceNumber": str(10 ** 21 + n), "Keys": keys}}
               for n, item in enumerate(items(kind)) for keys in [{"PK": item["PK"], "SK": item["SK"]}]]
    name, event = out[function + "Function"] + ":live", json.dumps({"Records": records})
    if function in ("Sweeper", "Forwarder"):
        event = open("events/sweeper-minute.json").read()
    answer = lambdas.invoke(FunctionName=name, Payload=event)
    result = json.load(answer["Payload"])
    failures[function] = result if "FunctionError" in answer else None
    return "FunctionError" not in answer and not result.get("batchItemFailures") and not result.get("Failed")


def needs(function, works, *actions):
    """Checks that a function fails while its role lacks one of the actions on the table, and then works."""
    role = lambdas.get_function_configuration(FunctionName=out[function + "Function"])["Role"].split("/")[-1]
    policy = {"RoleName": role, "PolicyName": iam.list_role_policies(RoleName=role)["PolicyNames"][0]}
    text = json.dumps(iam.get_role_policy(**policy)["PolicyDocument"])
    for action in actions:
        less = text.replace(f'"dynamodb:{action}"', '"dynamodb:DescribeLimits"')
        iam.put_role_policy(**policy, PolicyDocument=less)
        until(f"the {function} function fails without {action}", lambda: less != text and not works())
    iam.put_role_policy(**policy, PolicyDocument=text)
    check(works(), f"the {function} function works with its role")


def denied(request):
    try:
        request()
    except exceptions.ClientError as refusal:
        return "explicit deny" in str(refusal)


# The documented deployment of the ledger and its alarms.
deploys, definitions, watches = snippets("console", "## Deploy\n", "### If the first")
variables, definitions = deploys.split("\n")[0] + "\n", "ledger() { :; }\n" + definitions
shell(deploys + definitions + watches)
out = {o["OutputKey"]: o["OutputValue"] for o in stacks.describe_stacks(StackName=STACK)["Stacks"][0]["Outputs"]}

# The documented policy of callers, and its part for reads.
policy = snippets("json", "### Callers with IAM", "### Callers with tokens")[0].replace("API_ID", out["LedgerApi"])
statement = json.loads(policy)["Statement"][0]
clerk = user("clerk", statement)
reader = user("reader", {**statement, "Resource": [r for r in statement["Resource"] if "/GET/" in r]})
for path, body in (("assets/USD", {"name": "US dollar", "scale": 2}),
                   ("accounts/bank", {"name": "Bank", "overdraft": "unlimited"}), ("accounts/jane", {"name": "Jane"})):
    check(call(clerk, "PUT", "/v1/" + path, body)[0] == 201, f"{path} is created")
check(call(reader, "GET", "/v1/me")[0] == 200 and transfer(reader, "t-1") == 403, "a caller with reads only reads")

# The stream's consumers, and the sweeper's schedule.
check(transfer(clerk, "h-1", hold=True) == 201 == transfer(clerk, "t-1"), "a hold and a transfer are posted")
for what, path, text in (("it is projected", "accounts/jane/balances/USD", '"quantity": "100"'),
                         ("it is listed", "transactions", '"id": "t-1"'), ("it is in the journal", "journal", '"t-1"'),
                         ("the hold has expired", "transactions/h-1", '"status": "expired"')):
    until(what, lambda: text in json.dumps(call(clerk, "GET", "/v1/" + path)))

# The roles. The sweeper lacks a right before its hold is due, so that the schedule does not end it. It reads with
# GetItem only when an ended hold is listed as open.
needs("Command", lambda: transfer(clerk, "t-2") == 201, "PutItem")
needs("Query", lambda: call(clerk, "GET", "/v1/transactions")[0] == 200, "Query")
needs("Projector", lambda: succeeds("Projector", "POSTING#"), "PutItem")
needs("Lister", lambda: succeeds("Lister", "TXN#"), "PutItem", "GetItem")
check(transfer(clerk, "h-2", hold=True) == 201, "a second hold is placed")
needs("Sweeper", lambda: succeeds("Sweeper"), "PutItem", "Query")
until("no hold is open", lambda: not any("PK2" in entry for entry in items("OPEN_HOLD")))
for entry in items("OPEN_HOLD"):
    dynamodb.put_item(TableName=out["LedgerTable"], Item={**entry, "PK2": {"S": "OPEN_HOLDS#0"}})
needs("Sweeper", lambda: succeeds("Sweeper"), "GetItem")

# The table's policy. The stand-in stores it, but evaluates only policies of identities, so an administrator gets it.
table = yaml.safe_load(open(".aws-sam/prod/build/template.yaml"))["Resources"]["LedgerTable"]["Properties"]
policy = table["ResourcePolicy"]["PolicyDocument"]
policy["Statement"] = policy["Statement"][:1]  # the other one is there only with OperatorRoleArn
del policy["Statement"][0]["Condition"]  # of the role that may delete
arn = dynamodb.describe_table(TableName=out["LedgerTable"])["Table"]["TableArn"]
dynamodb.put_resource_policy(ResourceArn=arn, Policy=json.dumps(policy))
del policy["Statement"][0]["Principal"]
admin = user("administrator", {"Effect": "Allow", "Action": "*", "Resource": "*"}, *policy["Statement"])
admin = admin.create_client("dynamodb", region_name=REGION)
item = {"TableName": out["LedgerTable"], "Key": {"PK": {"S": "x"}, "SK": {"S": "x"}}}
batch = {out["LedgerTable"]: [{"DeleteRequest": {"Key": item["Key"]}}]}
check(denied(lambda: admin.delete_item(**item)), "an administrator cannot delete")
check(denied(lambda: admin.transact_write_items(TransactItems=[{"Delete": item}])), "nor in a transaction")
check(denied(lambda: admin.batch_write_item(RequestItems=batch)), "nor in a batch")
check("Item" not in admin.get_item(**item), "but read")

# An update of parameters alone, which turns on what prod leaves out, and the documented way back.
shell(variables + "sam deploy --config-env prod --parameter-overrides JwtIssuer=https://issuer.example.com"
      " JwtAudience=ledger JwtAdminScope=admin JwtReadScope=read JwtWriteScope=write IndexedMetadata=order"
      " CorsOrigins=https://app.example.com Deployment=AllAtOnce Tracing=Active HotKeys=Disabled"
      " CommandConcurrency=5 BreakGlassRoleArn=arn:aws:iam::123456789012:role/break-glass"
      " OperatorRoleArn=arn:aws:iam::123456789012:role/operator EventBus=events"
      " BackupCopyVaultArn=arn:aws:backup:eu-west-1:123456789012:backup-vault:copies"
      f" KmsKeyArn={kms.create_key()['KeyMetadata']['Arn']}")
for name in ("Command", "Query", "Projector", "Lister"):
    versions = lambdas.list_versions_by_function(FunctionName=out[name + "Function"])["Versions"]
    check({"1", "2"} <= {v["Version"] for v in versions}, f"the {name} function has a new version, and the one before")
shell(variables + definitions + "VERSION=1\n" + snippets("console", "**Roll back:**", "**Rotate:**")[0])
alias = lambdas.get_alias(FunctionName=out["CommandFunction"], Name="live")
check(alias["FunctionVersion"] == "1", "the alias is back at the version before")

# A bus that does not exist takes every event, as in AWS. The forwarder asks for it, fails, and keeps its cursor.
detail = stacks.describe_stack_resource(StackName=STACK, LogicalResourceId="ForwarderFunction")["StackResourceDetail"]
out["ForwarderFunction"] = detail["PhysicalResourceId"]
taken = events.put_events(Entries=[{"EventBusName": "events", "Source": "x", "DetailType": "x", "Detail": "{}"}])
check(taken["FailedEntryCount"] == 0 and "EventId" in taken["Entries"][0], "no bus takes an event")
check(not succeeds("Forwarder") and not items("CURSOR"), "the forwarder fails without its bus, and keeps its cursor")
events.create_event_bus(Name="events")
until("with the bus, it sends all", lambda: succeeds("Forwarder") and items("CURSOR"))

# The deletion.
before = len(items())
for stack in (STACK + "-watch", STACK):
    stacks.delete_stack(StackName=stack)
    stacks.get_waiter("stack_delete_complete").wait(StackName=stack, WaiterConfig={"Delay": 1})
check(len(items()) == before > 0, "the table remains, with its items")
