"""Our games as other libraries want them: Gymnasium (`exports.gym`) and PettingZoo (`exports.zoo`), extra `gym`."""
