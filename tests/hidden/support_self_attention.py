"""Self-attention layers that do not return their weights: `mqa`, `gqa` and `mla`."""

from support_layers_dropout import DropoutChecks
from support_layers_heads import HeadChecks
from support_layers_masks import MaskChecks
from support_layers_numbers import NumberChecks
from support_layers_parameters import ParameterChecks
from support_layers_probes import LayerProbes

from grader.suite import assert_not_forbidden, check


class SelfAttentionChecks(
    LayerProbes, NumberChecks, DropoutChecks, MaskChecks, HeadChecks, ParameterChecks
):
    """All that holds for each of these layers, whatever it makes of its keys and values.

    pytest runs the checks of the last base first.
    """


class GroupedChecks(SelfAttentionChecks):
    """The same of layers whose query heads share key and value heads."""

    @check(
        "policy",
        points=1,
        title="Written without enable_gqa",
        hint="The point here is to share one key and value head among the query heads yourself.",
    )
    def test_heads_shared_by_hand(self, student, draw, forbidden_uses):
        setting, batch, length = self.usual
        made = setting.build(student, setting.weights(draw))
        setting.output(made, draw.normal(batch, length, setting.width))
        assert_not_forbidden(forbidden_uses)
