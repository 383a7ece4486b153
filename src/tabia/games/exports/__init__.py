"""Games as environments of Gymnasium (`exports.gym`) and PettingZoo (`exports.zoo`); needs the extra `gym`."""
