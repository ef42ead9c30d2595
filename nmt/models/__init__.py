"""From ids to the next word: recurrent models, attention, the Transformer, behind one interface."""
