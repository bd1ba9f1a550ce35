"""The queue and the compute environment that a job uses when it names none."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import migrations


def make_default_queue(apps: Any, schema_editor: Any) -> None:
    environment = apps.get_model("jobs", "ComputeEnvironment")
    queue = apps.get_model("jobs", "JobQueue")
    environment.objects.get_or_create(name="default")
    queue.objects.get_or_create(name="default", defaults={"environments": ["default"]})


class Migration(migrations.Migration):
    dependencies: ClassVar = [("jobs", "0001_initial")]
    operations: ClassVar = [
        migrations.RunPython(make_default_queue, migrations.RunPython.noop)
    ]
