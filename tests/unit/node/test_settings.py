from __future__ import annotations

import pytest

from runner.node.settings import BadSetting, read_settings

LEAST = {"PRSWEB_HOME": "/h", "PRSWEB_REDIS_URL": "redis://", "PRSWEB_NODE_NAME": "n1"}


def test_a_node_needs_three_settings_and_has_defaults_for_the_rest():
    settings = read_settings(LEAST)

    assert settings.name == "n1"
    assert settings.gpus == 0
    assert settings.environment is None
    assert settings.enforce_memory


@pytest.mark.parametrize("name", LEAST)
def test_a_missing_setting_is_named(name):
    with pytest.raises(BadSetting, match=name):
        read_settings({key: value for key, value in LEAST.items() if key != name})


def test_a_number_that_is_none_is_refused():
    with pytest.raises(BadSetting, match="PRSWEB_NODE_GPUS"):
        read_settings({**LEAST, "PRSWEB_NODE_GPUS": "two"})
