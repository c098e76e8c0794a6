"""Starts MiniStack, with recorders for the resources that it lacks: it must accept them, and they do nothing."""
from ministack.app import main
from ministack.services.cloudformation.provisioners import _RESOURCE_HANDLERS as handlers

ACCOUNT = "arn:aws:cloudwatch:us-east-1:123456789012:alarm:"


def create(logical_id, properties, stack):
    name = f"{stack}-{logical_id}-recorded"
    return name, {"Arn": ACCOUNT + name}


recorder = {"create": create, "delete": lambda name, properties: None,
            "update": lambda name, old, new, stack, logical_id=None: (name, {"Arn": ACCOUNT + name})}
for kind in ("AWS::CodeDeploy::Application", "AWS::CodeDeploy::DeploymentGroup", "AWS::CloudWatch::CompositeAlarm"):
    handlers[kind] = recorder

alarm = dict(handlers["AWS::CloudWatch::Alarm"])  # MiniStack has none on metric math
handlers["AWS::CloudWatch::Alarm"] = alarm | {
    "create": lambda i, p, s: (recorder if p.get("Metrics") else alarm)["create"](i, p, s),
    "update": lambda n, old, new, s, i=None: (recorder if new.get("Metrics") else alarm)["update"](n, old, new, s, i),
    "delete": lambda n, p: (recorder if p.get("Metrics") else alarm)["delete"](n, p),
}
main()
