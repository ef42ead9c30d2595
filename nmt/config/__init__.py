"""Settings as frozen objects, all to be imported from here; each class is a file in conf/, where all defaults live."""

from nmt.config.bulk_settings import *
from nmt.config.command_settings import *
from nmt.config.corpus_settings import *
from nmt.config.data_settings import *
from nmt.config.decoding_settings import *
from nmt.config.distil_settings import *
from nmt.config.format_settings import *
from nmt.config.kinds import *
from nmt.config.model_settings import *
from nmt.config.recipe_settings import *
from nmt.config.recorded_settings import *
from nmt.config.serve_settings import *
from nmt.config.tokenizer_settings import *
from nmt.config.tracking_settings import *
from nmt.config.training_settings import *
