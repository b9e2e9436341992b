"""Fast pieces that the models are made of, with their backward passes written out."""
